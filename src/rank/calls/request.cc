// SPDX-License-Identifier: Apache-2.0
//
// Checks the arguments. Each message names the numbers that the rank passed.
#include "rank/calls/request.h"

#include <cstdint>
#include <string>
#include <utility>

#include "encoding/encoded_tensor.h"
#include "sparse/block_sum.h"

namespace infold::rank {
namespace {

// A packet's shape field can tell tensor sizes apart up to this size.
constexpr std::size_t kElementsMax = 0xFFFF'FFFF;
// The limit for rows is higher, because the ranks join their blocks first, and that tells longer
// sizes apart.
constexpr std::size_t kElementsOfRowsMax = sparse::BlockSum::elements_max(core::DataType::f32);

std::string count(std::size_t elements) { return std::to_string(elements) + " elements"; }

Error invalid(std::string message) { return {Code::invalid_argument, std::move(message), -1, ""}; }

std::optional<Error> check_types(const CallRequest& request) {
  if (request.output.type == request.input.type) return std::nullopt;
  return invalid(std::string("the input is ") + data_type_name(request.input.type) +
                 ", the output " + data_type_name(request.output.type) +
                 "; pass an output of the input's type");
}

bool gathers(const CallRequest& request) {
  return request.collective == core::Collective::broadcast;
}

const std::byte* at_part(const void* data, const TensorView& part, int index) {
  return static_cast<const std::byte*>(data) +
         static_cast<std::size_t>(index) * part.elements * element_bytes(part.type);
}

// The shorter tensor must be one part of the longer one.
std::optional<Error> check_parts(const CallRequest& request, int rank, int world) {
  const TensorView output(request.output.data, request.output.elements, request.output.type);
  const TensorView& part = gathers(request) ? request.input : output;
  const TensorView& whole = gathers(request) ? output : request.input;
  const char* const part_name = gathers(request) ? "input" : "output";
  const char* const whole_name = gathers(request) ? "output" : "input";
  if (whole.elements != part.elements * static_cast<std::size_t>(world)) {
    return invalid(std::string("the ") + part_name + " has " + count(part.elements) + ", the " +
                   whole_name + " " + std::to_string(whole.elements) + "; with " +
                   std::to_string(world) + " ranks it must have " +
                   count(part.elements * static_cast<std::size_t>(world)));
  }
  if (auto error = check_types(request)) return error;
  if (part.elements > 0 && (part.data == nullptr || whole.data == nullptr)) {
    return invalid("a tensor has " + count(part.elements) + " and a null address");
  }
  const std::byte* const first = at_part(whole.data, part, 0);
  const std::byte* const last = at_part(whole.data, part, world);
  const auto* const own = static_cast<const std::byte*>(part.data);
  const bool apart = own >= last || at_part(own, part, 1) <= first;
  if (part.elements > 0 && !apart && own != at_part(whole.data, part, rank)) {
    return invalid(std::string("the ") + part_name + " overlaps the " + whole_name +
                   " elsewhere than at this rank's part");
  }
  return std::nullopt;
}

std::optional<Error> check_layout(const CallRequest& request) {
  const Layout layout = request.options.layout;
  if (layout > Layout::automatic) return invalid("the layout is not a Layout");
  if (layout != Layout::blocks && !request.rows) return std::nullopt;
  if (request.collective != core::Collective::all_reduce || request.is_list || request.in_parts) {
    return Error{Code::unsupported, "only all_reduce leaves out zeros; make the layout dense", -1,
                 ""};
  }
  const Reduction reduction = request.options.reduction;
  if (reduction == Reduction::min || reduction == Reduction::max) {
    return Error{Code::unsupported,
                 std::string("zeros count under ") + reduction_name(reduction) +
                     ", so that none can be left out; " +
                     (request.rows ? "pass the whole tensor" : "make the layout dense"),
                 -1, ""};
  }
  return std::nullopt;
}

std::string listed(std::size_t index) {
  return "tensor " + std::to_string(index) + " of the list ";
}

std::optional<Error> check_list(const CallRequest& request) {
  for (std::size_t i = 0; i < request.list.size(); ++i) {
    const MutableTensorView& tensor = request.list[i];
    if (tensor.type != request.list.front().type) {
      return invalid(listed(i) + "is " + data_type_name(tensor.type) + ", the first " +
                     data_type_name(request.list.front().type) + "; make a list for each type");
    }
    if (tensor.data == nullptr && tensor.elements > 0) {
      return invalid(listed(i) + "has " + count(tensor.elements) + " and a null address");
    }
    if (tensor.elements > kElementsMax) {
      return Error{Code::out_of_range,
                   listed(i) + "has " + count(tensor.elements) + "; the most is " +
                       std::to_string(kElementsMax) + ", split larger ones",
                   -1, ""};
    }
  }
  return std::nullopt;
}

std::string row_at(std::span<const std::int64_t> indices, std::size_t place) {
  return "row " + std::to_string(indices[place]) + ", at place " + std::to_string(place) +
         " of the indices,";
}

std::optional<Error> check_indices(const RowsView& rows) {
  std::int64_t before = -1;
  for (std::size_t i = 0; i < rows.indices.size(); ++i) {
    const std::int64_t row = rows.indices[i];
    if (row < 0 || static_cast<std::uint64_t>(row) >= rows.rows) {
      return Error{Code::out_of_range,
                   row_at(rows.indices, i) + " is not in the tensor, which has " +
                       std::to_string(rows.rows) + " rows",
                   -1, ""};
    }
    if (row == before) {
      return invalid(row_at(rows.indices, i) + " has been given before; add such rows up first");
    }
    if (row < before) {
      return invalid(row_at(rows.indices, i) + " comes after row " + std::to_string(before) +
                     "; sort the rows by their indices");
    }
    before = row;
  }
  return std::nullopt;
}

std::optional<Error> check_rows(const CallRequest& request) {
  const RowsView& rows = *request.rows;
  if (rows.row_elements == 0) return invalid("the rows have 0 elements; pass how long they are");
  if (rows.rows > kElementsOfRowsMax / rows.row_elements) {
    return Error{Code::out_of_range,
                 "the tensor has " + std::to_string(rows.rows) + " rows of " +
                     count(rows.row_elements) + "; the most is " +
                     std::to_string(kElementsOfRowsMax) + " in all, split larger ones",
                 -1, ""};
  }
  const std::size_t given = rows.indices.size();
  const bool fits = rows.values.elements % rows.row_elements == 0 &&
                    rows.values.elements / rows.row_elements == given;
  if (!fits) {
    return invalid("there are " + std::to_string(given) + " indices of rows of " +
                   count(rows.row_elements) + ", and values of " + count(rows.values.elements) +
                   "; pass a row of values for each index");
  }
  if (given > 0 && (rows.values.data == nullptr || rows.indices.data() == nullptr)) {
    return invalid("there are " + std::to_string(given) + " rows, and a null address");
  }
  return check_indices(rows);
}

std::optional<Error> check_encoded(const CallRequest& request) {
  const EncodedView& input = *request.encoded;
  const EncodedView output = request.encoded_output;
  for (const EncodedView& each : {input, output}) {
    if (std::string problem = encoding::problem_of(each); !problem.empty()) {
      return invalid(std::move(problem));
    }
  }
  if (input.wire != output.wire || input.type != output.type || input.elements != output.elements) {
    return invalid("the encoded output has another format, type or size than the input");
  }
  if (request.options.wire != input.wire) {
    return invalid(std::string("the call's wire format is ") +
                   wire_format_name(request.options.wire) + ", the tensor is encoded as " +
                   wire_format_name(input.wire) + "; leave the call's automatic");
  }
  if (request.options.reduction != Reduction::sum || request.options.layout != Layout::dense) {
    return Error{Code::unsupported,
                 "encoded tensors are summed and dense; divide the decoded sum by the number of "
                 "ranks for an average",
                 -1, ""};
  }
  if (input.elements > kElementsMax) {
    return Error{Code::out_of_range,
                 "the tensor has " + count(input.elements) + "; the most is " +
                     std::to_string(kElementsMax) + ", split larger ones",
                 -1, ""};
  }
  const std::size_t exponents = exponent_bytes(input.wire, input.type, input.elements);
  const std::size_t mantissas = mantissa_bytes(input.wire, input.type, input.elements);
  if (overlap(input.exponents, exponents, output.exponents, exponents) ||
      overlap(input.mantissas, mantissas, output.mantissas, mantissas)) {
    return invalid("the encoded input and output overlap; pass memory of its own for the output");
  }
  return std::nullopt;
}

std::optional<Error> check_output(const CallRequest& request) {
  const TensorView& input = request.input;
  const MutableTensorView& output = request.output;
  if (output.elements != input.elements) {
    return invalid("the input has " + count(input.elements) + ", the output " +
                   std::to_string(output.elements) + "; pass an output of the input's size");
  }
  if (auto error = check_types(request)) return error;
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
  if (request.options.priority > Priority::background) {
    return invalid("the priority is not a Priority");
  }
  if (request.collective == core::Collective::barrier) return std::nullopt;
  if (auto error = check_layout(request)) return error;

  if (request.encoded) return check_encoded(request);
  if (request.is_list) return check_list(request);
  if (request.rows) {
    if (auto error = check_rows(request)) return error;
    return request.output_rows != nullptr ? std::nullopt : check_output(request);
  }
  if (request.in_parts) {
    // This check comes first, so that the end addresses compared below cannot overflow.
    if (request.input.elements > kElementsMax || request.output.elements > kElementsMax) {
      return Error{Code::out_of_range,
                   "a tensor has more than " + count(kElementsMax) + "; split it", -1, ""};
    }
    return check_parts(request, rank, world);
  }

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

CallRequest part_of(const CallRequest& request, int root, int rank) {
  CallRequest part = request;
  part.in_parts = false;
  part.root = root;
  if (gathers(request)) {
    const auto* const whole = static_cast<const std::byte*>(request.output.data);
    if (root != rank) part.input.data = at_part(whole, request.input, root);
    part.output = {const_cast<void*>(part.input.data), part.input.elements, part.input.type};
    return part;
  }
  const TensorView size(nullptr, request.output.elements, request.output.type);
  part.input = {at_part(request.input.data, size, root), size.elements, size.type};
  return part;
}

bool overlap(const void* a, std::size_t a_bytes, const void* b, std::size_t b_bytes) {
  const auto first = reinterpret_cast<std::uintptr_t>(a);
  const auto second = reinterpret_cast<std::uintptr_t>(b);
  return first < second + b_bytes && second < first + a_bytes;
}

}  // namespace infold::rank
