// SPDX-License-Identifier: Apache-2.0
#include "sparse/block_sum.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <span>

#include "base/check.h"
#include "numeric/clear.h"
#include "numeric/codec.h"

namespace infold::sparse {
namespace {

std::optional<BlockSum::RowLengths> find_difference(std::span<const std::uint32_t> lengths) {
  const auto first = std::find_if(lengths.begin(), lengths.end(), [](auto each) { return each; });
  const auto other = std::find_if(first, lengths.end(),
                                  [&](std::uint32_t each) { return each != 0 && each != *first; });
  if (other == lengths.end()) return std::nullopt;
  return BlockSum::RowLengths{static_cast<std::uint32_t>(other - lengths.begin()), *other,
                              static_cast<std::uint32_t>(first - lengths.begin()), *first};
}

}  // namespace

bool BlockSum::can_be_sparse(core::Reduction reduction) {
  return reduction == core::Reduction::sum || reduction == core::Reduction::average ||
         reduction == core::Reduction::bit_or;
}

void BlockSum::begin(const Work& work) {
  const core::TransferRequest& dense = work.dense;
  CHECK(can_be_sparse(dense.reduction) && dense.codes == nullptr);
  work_ = work;
  const std::uint32_t block_elements = dense.layout.block_elements();
  blocks_total_ = (dense.elements + block_elements - 1) / block_elements;
  find_own_blocks();
  join_.begin(blocks_total_, {work.rank, work.world, own_row_length()});
  row_lengths_differ_.reset();
  // The const_cast is safe, because `input_` only reads.
  input_ = {dense.codec, dense.layout, const_cast<std::byte*>(dense.input), nullptr};
  output_ = {dense.codec, dense.layout, dense.output, nullptr};
  if (has_rows_in())
    rows_input_.begin(*work.input_rows, *dense.codec, dense.layout, dense.elements);
  if (has_rows_out())
    rows_output_.begin(work.output_row_elements, *dense.codec, dense.layout, dense.elements);
}

void BlockSum::find_own_blocks() {
  const core::TransferRequest& dense = work_.dense;
  WordSet& own = join_.own();
  if (has_rows_in()) {
    find_presence(*work_.input_rows, found_, own);
    if (writes_at_once_elsewhere()) numeric::clear(dense.output, output_bytes());
    return;
  }
  own.clear();
  found_.resize(words_for(blocks_total_));
  std::byte* const cleared = writes_at_once_elsewhere() ? dense.output : nullptr;
  // Clear long memory in the same pass, because writes are cheap while reads wait for memory.
  const bool is_long = output_bytes() >= numeric::kPastCachesBytes;
  has_signs_ = numeric::find_presence(dense.layout.dtype, dense.input, dense.elements,
                                      found_.data(), is_long ? cleared : nullptr);
  if (cleared != nullptr && !is_long) numeric::clear(cleared, output_bytes());
  for (std::size_t place = 0; place < found_.size(); ++place) {
    own.add_word(static_cast<std::uint32_t>(place), found_[place]);
  }
}

core::TransferRequest BlockSum::step(std::uint32_t number) {
  if (number + 1 < steps()) {
    core::TransferRequest request = join_.request(number);
    request.deadline = work_.dense.deadline;
    return request;
  }
  core::TransferRequest request = work_.dense;
  request.sized_later = true;
  static constexpr core::TensorCodec kCodec = {
      .element_bytes = 0, .encode = encode, .decode = decode};
  request.codec = &kCodec;
  request.context = this;
  request.input = nullptr;
  request.output = nullptr;
  return request;
}

// Encodes from whichever kind of input this sum has.
bool BlockSum::encode(const void* context, const std::byte*, core::ChunkRange range,
                      const std::uint16_t* codes, std::byte* exponents, std::byte* elements) {
  const auto& sum = *static_cast<const BlockSum*>(context);
  return sum.has_rows_in() ? sum.rows_input_.encode(range, codes, exponents, elements)
                           : sum.input_.encode(range, codes, exponents, elements);
}

// Decodes to whichever kind of output this sum has.
void BlockSum::decode(void* context, std::byte*, core::ChunkRange range,
                      const core::TensorCodec::Received& received) {
  const auto& sum = *static_cast<const BlockSum*>(context);
  if (sum.has_rows_out()) {
    sum.rows_output_.decode(range, received);
  } else {
    sum.output_.decode(range, received);
  }
}

// This rank's row length as a word, as R-076 defines it.
std::uint32_t BlockSum::own_row_length() const {
  if (!has_rows_in() || work_.input_rows->row_elements == 1) return 0;
  return static_cast<std::uint32_t>(std::min<std::uint64_t>(
      work_.input_rows->row_elements, std::numeric_limits<std::uint32_t>::max()));
}

std::uint64_t BlockSum::size_after(std::uint32_t number) {
  if (number == 0) row_lengths_differ_ = find_difference(join_.take_words());
  if (row_lengths_differ_) {
    own_.clear();
    union_blocks_ = union_elements_ = 0;
    return 0;
  }
  return number + 2 < steps() ? join_.descend() : gather_blocks();
}

std::uint64_t BlockSum::gather_blocks() {
  blocks_.clear();
  own_.clear();
  join_.for_each([&](std::uint32_t block, bool is_own) {
    const std::size_t place = blocks_.size();
    if (place % kWordBits == 0) own_.push_back(0);
    own_.back() |= std::uint32_t{is_own} << (place % kWordBits);
    blocks_.push_back(block);
    if (has_rows_in()) rows_input_.add(block, is_own);
    if (has_rows_out()) rows_output_.add(block);
  });
  union_blocks_ = blocks_.size();
  const core::TransferRequest& dense = work_.dense;
  const std::uint32_t block_elements = dense.layout.block_elements();
  union_elements_ = union_blocks_ * block_elements;
  if (!blocks_.empty() && blocks_.back() + std::uint64_t{1} == blocks_total_) {
    union_elements_ -= blocks_total_ * block_elements - dense.elements;
  }
  const bool all = union_blocks_ == blocks_total_;
  input_.blocks = output_.blocks = all ? nullptr : blocks_.data();
  input_.block_count = all ? 0 : union_blocks_;
  input_.own = own_.data();
  input_.asked_until = 0;
  return union_elements_;
}

std::size_t BlockSum::block_bytes() const {
  const core::ElementLayout layout = work_.dense.layout;
  return std::size_t{layout.block_elements()} * element_bytes(layout.dtype);
}

std::size_t BlockSum::output_bytes() const {
  return work_.dense.elements * element_bytes(work_.dense.layout.dtype);
}

std::size_t BlockSum::staged_bytes() const {
  if (has_rows_out()) return rows_output_.value_bytes();
  return work_.stages ? union_bytes() : 0;
}

void BlockSum::stage(std::byte* results) {
  if (has_rows_out()) {
    rows_output_.set_memory(results);
    return;
  }
  output_.tensor = results;
  output_.blocks = nullptr;
}

// Visits the elements of the union in stretches that fit in the caches.
template <typename Visit>
void BlockSum::for_each_stretch(Visit&& visit) const {
  constexpr std::uint32_t kStretch = 4096;
  const std::size_t width = element_bytes(work_.dense.layout.dtype);
  for (std::uint64_t first = 0; first < union_elements_; first += kStretch) {
    const std::uint64_t left = union_elements_ - first;
    const auto elements = static_cast<std::uint32_t>(std::min<std::uint64_t>(kStretch, left));
    visit(core::ChunkRange{first, elements}, first * width);
  }
}

void BlockSum::copy_elements(std::byte* elements) const {
  CHECK(work_.dense.layout.is_native());
  for_each_stretch([&](core::ChunkRange range, std::size_t at) {
    encode(this, nullptr, range, nullptr, nullptr, elements + at);
  });
}

void BlockSum::take_sums(const std::byte* sums) {
  CHECK(work_.dense.layout.is_native());
  for_each_stretch([&](core::ChunkRange range, std::size_t at) {
    core::TensorCodec::Received received;
    received.elements = sums + at;
    decode(this, nullptr, range, received);
  });
}

void BlockSum::finish() {
  if (has_rows_out()) {
    rows_found_ = rows_output_.find_rows();
    return;
  }
  const core::TransferRequest& dense = work_.dense;
  if (dense.output == dense.input ? has_signs_ : work_.stages) clear_absent();
  if (!work_.stages) return;
  const std::size_t block_bytes = this->block_bytes();
  const std::byte* from = output_.tensor;
  const std::byte* const end = from + staged_bytes();
  for (const std::uint32_t block : blocks_) {
    const auto bytes = std::min(block_bytes, static_cast<std::size_t>(end - from));
    std::memcpy(dense.output + block * block_bytes, from, bytes);
    from += bytes;
  }
}

void BlockSum::clear_absent() {
  const std::size_t block_bytes = this->block_bytes();
  std::byte* const output = work_.dense.output;
  const std::size_t end = output_bytes();
  std::size_t from = 0;
  const auto clear_until = [&](std::size_t at) {
    if (at > from) numeric::clear(output + from, at - from);
  };
  for (const std::uint32_t block : blocks_) {
    clear_until(block * block_bytes);
    from = (block + 1) * block_bytes;
  }
  clear_until(end);
}

}  // namespace infold::sparse
