// SPDX-License-Identifier: Apache-2.0
//
// The checks of arguments, each with the rank's own numbers in its message.
#include "runtime/request.h"

#include <cstdint>
#include <string>

namespace infold::runtime {
namespace {

// A packet's shape field tells sizes apart up to here.
constexpr std::size_t kElementsMax = 0xFFFF'FFFF;

std::string count(std::size_t elements) { return std::to_string(elements) + " elements"; }

Error invalid(std::string message) { return {Code::invalid_argument, std::move(message), -1, ""}; }

std::optional<Error> check_output(const CallRequest& request) {
  const TensorView& input = request.input;
  const MutableTensorView& output = request.output;
  if (output.elements != input.elements) {
    return invalid("the input has " + count(input.elements) + ", the output " +
                   std::to_string(output.elements) + "; pass an output of the input's size");
  }
  if (output.type != input.type) {
    return invalid(std::string("the input is ") + data_type_name(input.type) + ", the output " +
                   data_type_name(output.type) + "; pass an output of the input's type");
  }
  if (output.data == nullptr && output.elements > 0) {
    return invalid("the output has " + count(output.elements) + " and a null address");
  }
  return std::nullopt;
}

}  // namespace

std::optional<Error> check_request(const CallRequest& request, int rank, int world) {
  if (request.options.deadline.count() < 0) {
    return Error{Code::out_of_range,
                 "the deadline is negative; pass more than zero, or zero for the communicator's",
                 -1, ""};
  }
  if (request.collective == core::Collective::barrier) return std::nullopt;

  const bool rooted = request.collective == core::Collective::reduce ||
                      request.collective == core::Collective::broadcast;
  if (rooted && (request.root < 0 || request.root >= world)) {
    return Error{Code::out_of_range,
                 "root " + std::to_string(request.root) + " is not a rank; ranks are 0 to " +
                     std::to_string(world - 1),
                 -1, ""};
  }
  if (request.input.elements > kElementsMax) {
    return Error{Code::out_of_range,
                 "the tensor has " + count(request.input.elements) + "; the most is " +
                     std::to_string(kElementsMax) + ", split larger ones",
                 -1, ""};
  }
  if (request.input.data == nullptr && request.input.elements > 0) {
    return invalid("the input has " + count(request.input.elements) + " and a null address");
  }
  const bool gets_result = request.collective != core::Collective::reduce || request.root == rank;
  return gets_result ? check_output(request) : std::nullopt;
}

}  // namespace infold::runtime
