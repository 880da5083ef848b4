// SPDX-License-Identifier: Apache-2.0
//
// One rank's side of an exact sum over adders: what it sends, and how it decodes sums.
#include "tests/conformance/digits_runner.h"

#include <cstring>
#include <span>

#include "encoding/digits.h"
#include "tests/conformance/text/tensor_text.h"

namespace infold::conformance {
namespace {

// The words of a line before `expect`.
struct Request {
  core::DataType dtype = core::DataType::f32;
  core::Reduction reduction = core::Reduction::sum;
  std::uint32_t world = 1;
  std::uint32_t packet_integers = 0;  // integers of a short tensor, which has no ranges
  std::vector<std::int64_t> ranges;   // that all ranks have agreed on
  std::int64_t elements = 0;          // if there is no tensor
  std::vector<std::string> values;    // values of this rank's tensor
  std::vector<std::int64_t> sums;
};

Request read_request(Cursor& cursor, bool takes_sums) {
  Request request;
  PacketText packet;
  const Step type{"", {cursor.take_word() + "/i32"}};
  Cursor one(type);
  read_fields(one, packet);
  request.dtype = static_cast<core::DataType>(packet.signature.dtype);
  while (!cursor.accept("expect")) {
    if (cursor.peek() == "[") {
      if (takes_sums) {
        request.sums = cursor.take_numbers();
      } else {
        request.values = cursor.take_list();
      }
      continue;
    }
    const std::string word = cursor.take_word();
    if (const auto reduction = reduction_named(word)) {
      request.reduction = static_cast<core::Reduction>(*reduction);
    } else if (word == "world") {
      request.world = static_cast<std::uint32_t>(cursor.take_number());
    } else if (word == "packet") {
      request.packet_integers = static_cast<std::uint32_t>(cursor.take_number());
    } else if (word == "ranges") {
      request.ranges = cursor.take_numbers();
    } else if (word == "elements") {
      request.elements = cursor.take_number();
    } else {
      cursor.fail("digits have no '" + word + "'");
    }
  }
  return request;
}

template <typename Integer>
std::vector<std::int64_t> encoded(const core::TransferRequest& transfer, std::uint64_t count) {
  std::vector<Integer> integers(count);
  transfer.codec->encode(transfer.context, nullptr, {0, static_cast<std::uint32_t>(count)}, nullptr,
                         nullptr, reinterpret_cast<std::byte*>(integers.data()));
  return {integers.begin(), integers.end()};
}

template <typename Integer>
void decode(const core::TransferRequest& transfer, const std::vector<std::int64_t>& values,
            std::uint32_t divisor) {
  std::vector<Integer> integers;
  for (const std::int64_t value : values) integers.push_back(static_cast<Integer>(value));
  core::TensorCodec::Received received;
  received.elements = reinterpret_cast<const std::byte*>(integers.data());
  received.divisor = divisor;
  transfer.codec->decode(transfer.context, nullptr,
                         {0, static_cast<std::uint32_t>(integers.size())}, received);
}

// A rank with its tensor, or with zeros.
class Rank {
 public:
  Rank(const Step& step, const Request& request) : dtype_(request.dtype) {
    tensor_ = tensor_bytes(step, dtype_, request.values);
    if (request.values.empty()) {
      tensor_.resize(static_cast<std::size_t>(request.elements) * element_bytes(dtype_));
    }
    output_.resize(tensor_.size(), std::byte{0xEE});
    encoding::Digits::Work work;
    work.tensor.layout = {core::WireFormat::i32, dtype_};
    work.tensor.reduction = request.reduction;
    work.tensor.elements = tensor_.size() / element_bytes(dtype_);
    work.tensor.codec = encoding::Digits::codec(request.world);
    work.tensor.input = tensor_.data();
    work.tensor.output = output_.data();
    work.wanted = work.tensor.elements;
    work.world = request.world;
    work.packet_integers = request.packet_integers;
    digits_.begin(work);
    if (request.packet_integers > 0) return;
    const core::TransferRequest ranges = digits_.range_transfer();
    own_ranges_ = encoded<std::int16_t>(ranges, ranges.elements);
    if (request.ranges.empty()) return;
    if (request.ranges.size() != ranges.elements) {
      throw VectorError(step.where + ": there must be " + std::to_string(ranges.elements) +
                        " integers of ranges");
    }
    decode<std::int16_t>(ranges, request.ranges, 1);
    integers_ = digits_.plan();
  }

  const std::vector<std::int64_t>& own_ranges() const { return own_ranges_; }
  core::TransferRequest transfer() { return digits_.digit_transfer(); }
  std::uint64_t integers() {
    return digits_.has_range_transfer() ? integers_ : transfer().elements;
  }
  const std::vector<std::byte>& output() const { return output_; }

 private:
  core::DataType dtype_;
  std::vector<std::byte> tensor_;
  std::vector<std::byte> output_;
  encoding::Digits digits_;
  std::vector<std::int64_t> own_ranges_;
  std::uint64_t integers_ = 0;
};

void compare(const Step& step, const std::vector<std::int64_t>& wanted,
             const std::vector<std::int64_t>& got) {
  if (got == wanted) return;
  std::string text = step.where + ": got";
  for (const std::int64_t each : got) text += " " + std::to_string(each);
  throw VectorError(text);
}

void check_sums(const Step& step, const Request& request,
                const std::vector<std::string>& expected) {
  Rank rank(step, request);
  if (request.sums.size() != rank.integers()) {
    throw VectorError(step.where + ": there must be " + std::to_string(rank.integers()) + " sums");
  }
  const bool averages = request.reduction == core::Reduction::average;
  if (!request.sums.empty()) {
    decode<std::int32_t>(rank.transfer(), request.sums, averages ? request.world : 1);
  }
  const std::vector<std::byte> wanted = tensor_bytes(step, request.dtype, expected);
  if (rank.output() == wanted) return;
  throw VectorError(step.where + ": expected " + tensor_words(request.dtype, wanted) +
                    "\n  got      " + tensor_words(request.dtype, rank.output()));
}

}  // namespace

bool is_digits_step(const Step& step) {
  const std::string& verb = step.tokens.at(0);
  return verb == "range" || verb == "digits" || verb == "undigits";
}

void run_digits_step(const Step& step) {
  Cursor cursor(step);
  const std::string verb = cursor.take_word();
  const Request request = read_request(cursor, verb == "undigits");
  if (verb == "undigits") {
    check_sums(step, request, cursor.take_list());
  } else if (verb == "range") {
    compare(step, cursor.take_numbers(), Rank(step, request).own_ranges());
  } else {
    Rank rank(step, request);
    compare(step, cursor.take_numbers(), encoded<std::int32_t>(rank.transfer(), rank.integers()));
  }
  if (!cursor.done()) cursor.fail("'" + cursor.peek() + "' does not belong here");
}

}  // namespace infold::conformance
