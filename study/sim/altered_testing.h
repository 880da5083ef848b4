// SPDX-License-Identifier: Apache-2.0
//
// Returns datagrams as a hostile rank may send them, with some bits changed and sometimes another
// length, or with a tag, or as an exact sum.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <span>
#include <vector>

#include "base/prng.h"
#include "wire/infold_wire.h"

namespace infold::sim {

inline std::vector<std::byte> altered(std::span<const std::byte> datagram, base::Prng& random) {
  std::vector<std::byte> copy(datagram.begin(), datagram.end());
  if (copy.empty()) return copy;
  for (std::uint64_t flips = 1 + random.below(3); flips > 0; --flips) {
    // Most changes are in the header, which decides most.
    const std::size_t reach =
        random.chance(0.8) ? std::min<std::size_t>(copy.size(), INFOLD_HEADER_BYTES) : copy.size();
    copy[random.below(reach)] ^= static_cast<std::byte>(1U << random.below(8));
  }
  if (random.chance(0.2)) copy.resize(random.below(copy.size() + 8));
  return copy;
}

// Puts a tag behind the header.
inline std::vector<std::byte> tagged(std::span<const std::byte> datagram, base::Prng& random) {
  std::vector<std::byte> copy(datagram.begin(), datagram.end());
  if (copy.size() < INFOLD_HEADER_BYTES) return copy;
  copy[offsetof(infold_header, flags)] |= static_cast<std::byte>(INFOLD_FLAG_TAGGED);
  std::vector<std::byte> tag(INFOLD_TAG_BYTES);
  for (std::byte& each : tag) each = static_cast<std::byte>(random.below(256));
  copy.insert(copy.begin() + INFOLD_HEADER_BYTES, tag.begin(), tag.end());
  return copy;
}

// Returns part 0 of an exact sum of f32 with the header of this datagram otherwise.
inline std::vector<std::byte> exact_part(std::span<const std::byte> datagram, base::Prng& random) {
  if (datagram.size() < INFOLD_HEADER_BYTES) return {datagram.begin(), datagram.end()};
  std::vector<std::byte> copy(datagram.begin(), datagram.begin() + INFOLD_HEADER_BYTES);
  infold_be16 elements;
  std::memcpy(&elements, &copy[offsetof(infold_header, elements)], sizeof(elements));
  const std::size_t count = infold_from_be16(elements);
  const std::size_t pairs = random.below(std::min<std::size_t>(count, 12) + 1);
  copy[offsetof(infold_header, version_kind)] =
      static_cast<std::byte>(INFOLD_VERSION << 4 | INFOLD_KIND_PARTIAL);
  copy[offsetof(infold_header, flags)] = std::byte{0};
  copy[offsetof(infold_header, format)] =
      static_cast<std::byte>(INFOLD_DTYPE_F32 << 4 | INFOLD_FORMAT_NATIVE);
  copy[offsetof(infold_header, operation)] = std::byte{0};
  infold_exact head{};
  head.parts = 2;
  head.lows = infold_to_be16(static_cast<std::uint16_t>(pairs));
  const std::size_t indices = INFOLD_HEADER_BYTES + sizeof(head) + 8 * count;
  copy.resize(indices + (2 * pairs + 7) / 8 * 8 + 8 * pairs);
  std::memcpy(&copy[INFOLD_HEADER_BYTES], &head, sizeof(head));
  for (std::size_t pair = 0; pair < pairs; ++pair) {
    copy[indices + 2 * pair] = static_cast<std::byte>(pair);
  }
  return copy;
}

}  // namespace infold::sim
