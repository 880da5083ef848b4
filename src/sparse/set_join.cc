// SPDX-License-Identifier: Apache-2.0
#include "sparse/set_join.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "base/check.h"
#include "numeric/codec.h"

namespace infold::sparse {
namespace {

// These words have a bit for each block of 8 MB of f32, which is few enough packets for one round
// trip. In a sparse tensor, longer sets are mostly empty, and then another round trip costs less
// than it saves.
constexpr std::uint64_t kDirectWordsMax = 2048;

const core::TensorCodec& words_codec() {
  static const core::TensorCodec& codec =
      *numeric::codec(core::DataType::i32, core::WireFormat::i32, core::Reduction::bit_or,
                      core::Collective::all_reduce);
  return codec;
}

using Words = std::vector<std::uint32_t>;

// The context is a vector of words, which has its final length by the time the transfer gets its
// size.
bool encode(const void* context, const std::byte*, core::ChunkRange range,
            const std::uint16_t* codes, std::byte* exponents, std::byte* elements) {
  const auto& words = *static_cast<const Words*>(context);
  return words_codec().encode(nullptr, reinterpret_cast<const std::byte*>(words.data()), range,
                              codes, exponents, elements);
}

void decode(void* context, std::byte*, core::ChunkRange range,
            const core::TensorCodec::Received& received) {
  auto& words = *static_cast<Words*>(context);
  words_codec().decode(nullptr, reinterpret_cast<std::byte*>(words.data()), range, received);
}

constexpr core::TensorCodec kCodec = {.element_bytes = 0, .encode = encode, .decode = decode};

}  // namespace

core::TransferRequest blank_join() {
  core::TransferRequest request;
  request.reduction = core::Reduction::bit_or;
  request.layout = {core::WireFormat::i32, core::DataType::i32};
  request.codec = &words_codec();
  request.priority = core::Priority::urgent;
  return request;
}

void SetJoin::begin(std::uint64_t numbers, OwnWord own_word) {
  CHECK_THAT(numbers, <=, kNumbersMax);
  levels_[0].numbers = numbers;
  level_count_ = 1;
  for (std::uint64_t words = words_for(numbers); words > kDirectWordsMax;
       words = words_for(words)) {
    const WordSet& below = levels_[level_count_ - 1].own;
    Level& level = levels_.at(level_count_++);
    level.numbers = words;
    level.own.clear();
    for (const std::uint32_t place : below.places) level.own.add(place);
  }
  level_ = level_count_ - 1;
  joined_.places.resize(words_for(levels_[level_].numbers));
  std::iota(joined_.places.begin(), joined_.places.end(), 0U);
  take_own_words(level_);
  words_of_ranks_.assign(own_word.world, 0);
  words_of_ranks_.at(own_word.rank) = own_word.word;
  joined_.words.insert(joined_.words.end(), words_of_ranks_.begin(), words_of_ranks_.end());
}

void SetJoin::take_own_words(std::uint32_t level) {
  WordCursor own(levels_[level].own);
  joined_.words.clear();
  for (const std::uint32_t place : joined_.places) joined_.words.push_back(own.word_at(place));
}

core::TransferRequest SetJoin::request(std::uint32_t step) {
  core::TransferRequest request = blank_join();
  request.elements = words_for(levels_.at(level_count_ - 1 - step).numbers);
  if (step == 0) request.elements += words_of_ranks_.size();
  request.codec = &kCodec;
  request.context = &joined_.words;
  request.sized_later = step > 0;
  return request;
}

std::span<const std::uint32_t> SetJoin::take_words() {
  CHECK_THAT(joined_.words.size(), ==, joined_.places.size() + words_of_ranks_.size());
  const auto behind = joined_.words.end() - static_cast<std::ptrdiff_t>(words_of_ranks_.size());
  std::copy(behind, joined_.words.end(), words_of_ranks_.begin());
  joined_.words.erase(behind, joined_.words.end());
  return words_of_ranks_;
}

std::uint64_t SetJoin::descend() {
  CHECK_THAT(level_, >, 0);
  next_.places.clear();
  for (std::size_t i = 0; i < joined_.words.size(); ++i) {
    for_each_bit(joined_.places[i], joined_.words[i], [&](std::uint32_t place) {
      if (place < levels_[level_].numbers) next_.places.push_back(place);
    });
  }
  std::swap(joined_, next_);
  take_own_words(--level_);
  return joined_.words.size();
}

}  // namespace infold::sparse
