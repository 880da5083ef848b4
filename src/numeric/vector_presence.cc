// SPDX-License-Identifier: Apache-2.0
//
// Which blocks of a tensor hold anything but zeros, in vectors. A tensor is read once, at the speed
// of memory; nothing is written but a bit for each block.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "numeric/vector_presence.cc"
#include <algorithm>

#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "numeric/presence.h"
#include "numeric/scalar_codecs.h"
#include "numeric/vector_sets.h"

HWY_BEFORE_NAMESPACE();
namespace infold::numeric {
namespace HWY_NAMESPACE {
namespace {

#if HWY_TARGET == HWY_SCALAR || HWY_TARGET == HWY_EMU128

FindPresence choose_presence() { return scalar_find_presence; }

#else

namespace hn = hwy::HWY_NAMESPACE;

// No longer than a block, so that each vector belongs to one.
template <std::size_t kBlockBytes>
using BlockTag = hn::CappedTag<std::uint64_t, std::min<std::size_t>(kBlockBytes / 8, 8)>;

template <std::size_t kBlockBytes>
HWY_INLINE hn::Vec<BlockTag<kBlockBytes>> bits_of_block(const std::byte* at) {
  const BlockTag<kBlockBytes> d;
  const auto* const words = reinterpret_cast<const std::uint64_t*>(at);
  auto all = hn::LoadU(d, words);
  for (std::size_t i = hn::Lanes(d); i < kBlockBytes / 8; i += hn::Lanes(d)) {
    all = hn::Or(all, hn::LoadU(d, words + i));
  }
  return all;
}

// Of whole words' worth of blocks, two words at a time: processors ask ahead within a page, a word
// of f32 covers one, and from two pages at once a tensor is read 1.4 times as fast as from one.
template <std::size_t kBlockBytes>
bool find_words(const std::byte* tensor, std::uint64_t magnitude, std::uint64_t count,
                std::uint32_t* words) {
  constexpr std::size_t kWordBytes = 32 * kBlockBytes;
  const BlockTag<kBlockBytes> d;
  const auto mask = hn::Set(d, magnitude);
  auto signs = hn::Zero(d);
  const auto look = [&](const std::byte* at, std::uint32_t block, std::uint32_t& present) {
    const auto all = bits_of_block<kBlockBytes>(at + block * kBlockBytes);
    const bool is_present = !hn::AllTrue(d, hn::Eq(hn::And(all, mask), hn::Zero(d)));
    present |= std::uint32_t{is_present} << block;
    if (!is_present) signs = hn::Or(signs, all);
  };
  for (std::uint64_t word = 0; word < count; word += 2) {
    const std::byte* const first = tensor + word * kWordBytes;
    const bool is_last = word + 1 == count;  // an odd one is looked at twice
    const std::byte* const second = is_last ? first : first + kWordBytes;
    std::uint32_t present = 0;
    std::uint32_t present_in_second = 0;
    for (std::uint32_t block = 0; block < 32; ++block) {
      look(first, block, present);
      look(second, block, present_in_second);
    }
    words[word] = present;
    if (!is_last) words[word + 1] = present_in_second;
  }
  return !hn::AllTrue(d, hn::Eq(signs, hn::Zero(d)));
}

bool find_presence(core::DataType dtype, const std::byte* tensor, std::uint64_t elements,
                   std::uint32_t* words) {
  const std::uint32_t block_elements = presence_block_elements(dtype);
  const std::uint64_t whole = elements / block_elements / 32;
  const std::uint64_t magnitude = magnitude_bits(dtype);
  const std::uint64_t blocks = (elements + block_elements - 1) / block_elements;
  std::fill(words + whole, words + (blocks + 31) / 32, 0U);
  bool has_signs = false;
  switch (block_elements * dtype_bytes(dtype)) {
    case 32: has_signs = find_words<32>(tensor, magnitude, whole, words); break;
    case 64: has_signs = find_words<64>(tensor, magnitude, whole, words); break;
    case 128: has_signs = find_words<128>(tensor, magnitude, whole, words); break;
    case 256: has_signs = find_words<256>(tensor, magnitude, whole, words); break;
    default: has_signs = find_words<512>(tensor, magnitude, whole, words); break;
  }
  return find_presence_from(whole * 32, dtype, tensor, elements, words) || has_signs;
}

FindPresence choose_presence() { return find_presence; }

#endif  // HWY_TARGET == HWY_SCALAR || HWY_TARGET == HWY_EMU128

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace infold::numeric
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace infold::numeric {
HWY_EXPORT(choose_presence);
FindPresence chosen_presence() { return HWY_DYNAMIC_DISPATCH(choose_presence)(); }
}  // namespace infold::numeric
#endif
