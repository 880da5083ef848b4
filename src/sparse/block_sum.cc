// SPDX-License-Identifier: Apache-2.0
#include "sparse/block_sum.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "base/check.h"
#include "numeric/codec.h"

namespace infold::sparse {
namespace {

// A bit for each block of 8 MB of f32: few packets, which one round trip carries. Longer sets are
// mostly empty where it matters, and then another round trip is less than what it saves.
constexpr std::size_t kDirectWordsMax = 2048;
constexpr std::uint32_t kWordBits = 32;

std::size_t words_for(std::size_t bits) { return (bits + kWordBits - 1) / kWordBits; }

// Calls visit(place) for each bit, in rising order.
template <typename Visit>
void for_each_bit(const std::vector<std::uint32_t>& words, Visit&& visit) {
  for (std::size_t word = 0; word < words.size(); ++word) {
    for (std::uint32_t left = words[word]; left != 0; left &= left - 1) {
      visit(static_cast<std::uint32_t>(word * kWordBits) +
            static_cast<std::uint32_t>(std::countr_zero(left)));
    }
  }
}

}  // namespace

bool BlockSum::can_leave_out_zeros(core::Reduction reduction) {
  return reduction == core::Reduction::sum || reduction == core::Reduction::average ||
         reduction == core::Reduction::bit_or;
}

void BlockSum::begin(const core::TransferRequest& dense, bool stages) {
  CHECK(can_leave_out_zeros(dense.reduction) && dense.codes == nullptr);
  dense_ = dense;
  stages_ = stages;
  const std::uint32_t block_elements = dense.layout.block_elements();
  blocks_total_ = (dense.elements + block_elements - 1) / block_elements;
  CHECK_THAT(blocks_total_, <, std::uint64_t{1} << 32);
  present_.resize(words_for(blocks_total_));
  has_signs_ =
      numeric::find_presence(dense.layout.dtype, dense.input, dense.elements, present_.data());
  own_ = present_;
  own_of_some_.resize(present_.size());
  coarse_.clear();
  if (present_.size() > kDirectWordsMax) {
    coarse_.resize(words_for(present_.size()));
    for (std::size_t word = 0; word < present_.size(); ++word) {
      coarse_[word / kWordBits] |= std::uint32_t{present_[word] != 0} << word % kWordBits;
    }
    fine_.resize(present_.size());
  }
  if (!stages && dense.output != dense.input) {
    std::memset(dense.output, 0, dense.elements * dtype_bytes(dense.layout.dtype));
  }
}

core::TransferRequest BlockSum::join_request(std::vector<std::uint32_t>& words) const {
  core::TransferRequest request;
  request.reduction = core::Reduction::bit_or;
  request.layout = {core::WireFormat::i32, core::DataType::i32};
  request.elements = words.size();
  request.codec = numeric::codec(core::DataType::i32, core::WireFormat::i32,
                                 core::Reduction::bit_or, core::Collective::all_reduce);
  request.output = reinterpret_cast<std::byte*>(words.data());
  request.input = request.output;
  request.priority = core::Priority::urgent;
  request.deadline = dense_.deadline;
  return request;
}

core::TransferRequest BlockSum::step(std::uint32_t number) {
  if (number == 0) return join_request(coarse_.empty() ? present_ : coarse_);
  core::TransferRequest request = number + 1 == steps() ? dense_ : join_request(fine_);
  request.sized_later = true;
  if (number + 1 < steps()) return request;
  // The worker only reads through an input's pointer, and a codec knows what it points to.
  input_ = {dense_.codec, dense_.layout, const_cast<std::byte*>(dense_.input), nullptr};
  output_ = {dense_.codec, dense_.layout, dense_.output, nullptr};
  request.codec = &gathered_codec();
  request.present = own_of_some_.data();
  request.input = input_.as_tensor();
  request.output = output_.as_tensor();
  return request;
}

std::uint64_t BlockSum::size_after(std::uint32_t number) {
  if (number + 2 < steps()) return gather_fine_words();
  if (!coarse_.empty()) {
    std::fill(present_.begin(), present_.end(), 0U);
    for (std::size_t i = 0; i < fine_places_.size(); ++i) present_[fine_places_[i]] = fine_[i];
  }
  return gather_blocks();
}

std::uint64_t BlockSum::gather_fine_words() {
  fine_places_.clear();
  for_each_bit(coarse_, [&](std::uint32_t word) {
    fine_[fine_places_.size()] = present_[word];
    fine_places_.push_back(word);
  });
  return fine_places_.size();
}

std::uint64_t BlockSum::gather_blocks() {
  blocks_.clear();
  std::fill(own_of_some_.begin(), own_of_some_.end(), 0U);
  for_each_bit(present_, [&](std::uint32_t block) {
    const std::size_t place = blocks_.size();
    const std::uint32_t is_own = own_[block / kWordBits] >> (block % kWordBits) & 1;
    own_of_some_[place / kWordBits] |= is_own << (place % kWordBits);
    blocks_.push_back(block);
  });
  blocks_present_ = blocks_.size();
  const std::uint32_t block_elements = dense_.layout.block_elements();
  elements_present_ = blocks_present_ * block_elements;
  if (!blocks_.empty() && blocks_.back() + 1 == blocks_total_) {
    elements_present_ -= blocks_total_ * block_elements - dense_.elements;
  }
  const bool all = blocks_present_ == blocks_total_;
  input_.blocks = output_.blocks = all ? nullptr : blocks_.data();
  return elements_present_;
}

std::size_t BlockSum::block_bytes() const {
  return std::size_t{dense_.layout.block_elements()} * dtype_bytes(dense_.layout.dtype);
}

std::size_t BlockSum::staged_bytes() const {
  return stages_ ? elements_present_ * dtype_bytes(dense_.layout.dtype) : 0;
}

void BlockSum::stage(std::byte* results) {
  output_.tensor = results;
  output_.blocks = nullptr;
}

void BlockSum::finish() {
  const bool in_place = dense_.output == dense_.input;
  if (in_place ? has_signs_ : stages_) clear_absent();
  if (!stages_) return;
  const std::size_t block_bytes = this->block_bytes();
  const std::byte* from = output_.tensor;
  const std::byte* const end = from + staged_bytes();
  for (const std::uint32_t block : blocks_) {
    const auto bytes = std::min(block_bytes, static_cast<std::size_t>(end - from));
    std::memcpy(dense_.output + block * block_bytes, from, bytes);
    from += bytes;
  }
}

void BlockSum::clear_absent() {
  const std::size_t block_bytes = this->block_bytes();
  const std::size_t end = dense_.elements * dtype_bytes(dense_.layout.dtype);
  std::size_t from = 0;
  const auto clear_until = [&](std::size_t at) {
    if (at > from) std::memset(dense_.output + from, 0, at - from);
  };
  for (const std::uint32_t block : blocks_) {
    clear_until(block * block_bytes);
    from = (block + 1) * block_bytes;
  }
  clear_until(end);
}

}  // namespace infold::sparse
