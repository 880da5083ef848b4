// SPDX-License-Identifier: Apache-2.0
//
// The blocks that a contribution's packet has, as stretches of adjacent blocks.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "core/packet/packet.h"

namespace infold::core {

// Calls visit(first block, first element, elements, where they lie) for each stretch of a
// contribution's blocks.
template <typename Visit>
void for_each_stretch(const Packet& packet, const std::byte* elements, Visit&& visit) {
  const ElementLayout layout = packet.header.signature.layout();
  const std::uint32_t total = packet.header.signature.elements;
  if (packet.present == nullptr) {
    visit(0U, 0U, total, elements);
    return;
  }
  packet.present->for_each_run([&](std::uint32_t block, std::uint32_t count) {
    const std::uint32_t first = block << layout.block_shift();
    const std::uint32_t size = std::min(count << layout.block_shift(), total - first);
    visit(block, first, size, elements);
    elements += std::size_t{size} * layout.element_bytes();
  });
}

}  // namespace infold::core
