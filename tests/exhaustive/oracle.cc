// SPDX-License-Identifier: Apache-2.0
//
// Makes the inputs, and sums them by plain addition.
#include "tests/exhaustive/oracle.h"

#include <algorithm>
#include <bit>
#include <cstdio>
#include <utility>

#include "base/check.h"
#include "numeric/codec.h"
#include "study/oracle/exact_total.h"

namespace infold::exhaustive {
namespace {

// No input and no sum has these bits, neither as an integer nor as a float (a NaN).
constexpr std::uint32_t kUntouched = 0xFFEEDDCC;

bool is_float(const Tensor& tensor) { return tensor.format >= core::WireFormat::bfp8; }

bool gives_input(const Tensor& plan, std::uint16_t rank) {
  return plan.collective != core::Collective::broadcast || rank == plan.root;
}

bool takes_result(const Tensor& plan, std::uint16_t rank) {
  if (plan.collective == core::Collective::broadcast) return rank != plan.root;
  return plan.collective != core::Collective::reduce || rank == plan.root;
}

// Three digits name the chunk. The first element of a chunk always has the first digit, so it is
// never zero.
std::uint32_t share(std::uint32_t digit_first, std::uint16_t rank, std::uint32_t chunk,
                    std::uint32_t element) {
  const std::uint32_t digit = digit_first + (element % 16 == 0 ? 0 : (chunk + element) % 3);
  return digit << (4 * rank);
}

// Whether the rank has the block of this element in a sparse tensor. With two workers, one or both
// have the chunk's first block, and for some chunks neither has it.
bool has_block(const Tensor& plan, std::uint16_t rank, std::uint32_t element) {
  const std::uint32_t block = element / INFOLD_BLOCK_ELEMENTS;
  return !plan.sparse || block % 4 == 2U * rank || block % 4 == 3;
}

bool has_element(const Tensor& plan, std::uint16_t rank, std::uint32_t element) {
  const std::uint32_t quarter = element / (INFOLD_BLOCK_ELEMENTS / 4) % 4;
  return has_block(plan, rank, element) && (!plan.quarters || quarter == rank);
}

// In a tensor with a wide spread, the second block of rank 0 is 2^40 times as large as that of the
// others. These are too far apart for one lane, and their sums round to rank 0's share. In native,
// the shares of the first three ranks sum to 1. A double cannot hold the sum of two of them, and
// two doubles cannot hold the sum of four.
float float_share(const Tensor& plan, std::uint16_t rank, std::uint32_t element,
                  std::uint32_t share) {
  const bool second_block = element % (kChunkElements) >= INFOLD_BLOCK_ELEMENTS;
  if (plan.wide_spread && second_block && plan.format == core::WireFormat::native) {
    constexpr float kShares[] = {0x1p100F, 1.0F, -0x1p100F, 0x1p-100F};
    return kShares[rank];
  }
  if (plan.wide_spread && second_block) {
    return rank == 0 ? std::bit_cast<float>((127U + 40U) << 23) : 1.0F;
  }
  return static_cast<float>(share);
}

}  // namespace

Oracle::Oracle(const Case& model_case) {
  for (const Tensor& plan : model_case.tensors) {
    Numbers numbers;
    numbers.plan = plan;
    numbers.first_chunk = chunk_count_;
    fill(numbers, model_case.workers, model_case.digit_first);
    chunk_count_ += plan.chunks;
    tensors_.push_back(std::move(numbers));
  }
  CHECK_THAT(chunk_count_, <=, 64);
}

void Oracle::fill(Numbers& numbers, std::uint16_t workers, std::uint32_t digit_first) const {
  const Tensor& plan = numbers.plan;
  const std::uint32_t elements = kChunkElements * plan.chunks;
  numbers.output.assign(elements, kUntouched);
  numbers.inputs.assign(workers, std::vector<std::uint32_t>(elements));
  numbers.present.assign(workers, std::vector<std::uint32_t>(1));
  CHECK_THAT(elements / INFOLD_BLOCK_ELEMENTS, <=, core::BlockSet::kWordBits);
  for (std::uint32_t i = 0; i < elements; ++i) {
    const std::uint32_t chunk = numbers.first_chunk + i / kChunkElements;
    std::uint32_t integer_sum = 0;
    float float_sum = 0;
    std::vector<double> shares;
    for (std::uint16_t rank = 0; rank < workers; ++rank) {
      const bool has = has_element(plan, rank, i);
      const std::uint32_t integer = has ? share(digit_first, rank, chunk, i) : 0;
      const float as_float = has ? float_share(plan, rank, i, integer) : 0;
      const bool is_present = has_block(plan, rank, i);
      numbers.present[rank][0] |= std::uint32_t{is_present} << i / INFOLD_BLOCK_ELEMENTS;
      numbers.inputs[rank][i] = is_float(plan) ? std::bit_cast<std::uint32_t>(as_float) : integer;
      if (!gives_input(plan, rank)) continue;
      integer_sum += integer;
      float_sum += as_float;
      shares.push_back(as_float);
    }
    if (plan.format == core::WireFormat::native) {
      const std::uint64_t sum = oracle::nearest_sum(core::DataType::f32, shares, 1);
      numbers.sums.push_back(static_cast<std::uint32_t>(sum));
    } else {
      const auto bits = std::bit_cast<std::uint32_t>(float_sum);
      numbers.sums.push_back(is_float(plan) ? bits : integer_sum);
    }
  }
}

std::uint64_t Oracle::chunks_due(std::uint16_t rank) const {
  std::uint64_t due = 0;
  for (const Numbers& numbers : tensors_) {
    if (!takes_result(numbers.plan, rank)) continue;
    due |= ((std::uint64_t{1} << numbers.plan.chunks) - 1) << numbers.first_chunk;
  }
  return due;
}

core::TransferRequest Oracle::request(std::uint32_t tensor, std::uint16_t rank) {
  Numbers& numbers = tensors_[tensor];
  core::TransferRequest request;
  request.collective = numbers.plan.collective;
  request.reduction = numbers.plan.reduction;
  request.layout = {numbers.plan.format,
                    is_float(numbers.plan) ? core::DataType::f32 : core::DataType::i32};
  request.elements = numbers.sums.size();
  request.root = numbers.plan.root;
  request.codec = numeric::codec(request.layout.dtype, request.layout.format, request.reduction,
                                 request.collective);
  if (gives_input(numbers.plan, rank)) {
    request.input = reinterpret_cast<const std::byte*>(numbers.inputs[rank].data());
  }
  if (numbers.plan.sparse) request.present = numbers.present[rank].data();
  if (takes_result(numbers.plan, rank)) {
    request.output = reinterpret_cast<std::byte*>(numbers.output.data());
  }
  return request;
}

void Oracle::erase_outputs() {
  for (Numbers& numbers : tensors_)
    std::fill(numbers.output.begin(), numbers.output.end(), kUntouched);
}

std::uint64_t Oracle::written_chunks(std::uint16_t rank, std::string& complaint) const {
  std::uint64_t written = 0;
  for (const Numbers& numbers : tensors_) {
    for (std::uint32_t chunk = 0; chunk < numbers.plan.chunks; ++chunk) {
      const std::size_t first = std::size_t{chunk} * kChunkElements;
      const auto begin = numbers.output.begin() + static_cast<std::ptrdiff_t>(first);
      const auto end = begin + kChunkElements;
      if (std::all_of(begin, end, [](std::uint32_t value) { return value == kUntouched; }))
        continue;
      written |= std::uint64_t{1} << (numbers.first_chunk + chunk);
      for (std::size_t i = first; i < first + kChunkElements && complaint.empty(); ++i) {
        if (numbers.output[i] == numbers.sums[i]) continue;
        char text[160];
        std::snprintf(text, sizeof text,
                      "WRONG SUM: worker %u takes chunk %u with element %zu = 0x%x, expected 0x%x",
                      rank, numbers.first_chunk + chunk, i - first, numbers.output[i],
                      numbers.sums[i]);
        complaint = text;
      }
    }
  }
  return written;
}

}  // namespace infold::exhaustive
