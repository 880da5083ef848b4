// SPDX-License-Identifier: Apache-2.0
//
// Calculates how many elements of each layout a datagram holds.
#include "core/format.h"

#include <algorithm>

#include "core/packet/exact_body.h"

namespace infold::core {
namespace {

// Chunks of plain integers are multiples of 16 elements, so that loops handle whole vectors. Chunks
// of floats with exponents are whole blocks.
constexpr std::uint32_t kIntegerGranule = 16;

std::uint32_t granule(ElementLayout layout) {
  const bool is_float = layout.dtype <= DataType::f64;
  const bool has_blocks = layout.is_block_float() || (is_float && layout.format == WireFormat::i32);
  return has_blocks ? layout.block_elements() : kIntegerGranule;
}

std::uint32_t datagram_bytes(ElementLayout layout, const ChunkLimits& limits,
                             std::uint32_t elements) {
  std::uint32_t body = layout.payload_bytes(elements);
  if (limits.tree && layout.is_native()) {
    body = exact_body_bytes(layout.dtype, elements, exact_lows_max(layout.dtype, elements));
  } else if (limits.tree && layout.is_block_float()) {
    body = layout.partial_exponent_bytes(elements) + elements * 8 +
           layout.partial_special_bytes(elements);
  }
  return INFOLD_HEADER_BYTES + (limits.tagged ? INFOLD_TAG_BYTES : 0) + body;
}

}  // namespace

const char* format_name(WireFormat format) {
  constexpr const char* kNames[] = {"i8", "i16", "i32", "i64", "bfp8", "bfp16", "bfp32", "native"};
  return kNames[static_cast<std::size_t>(format)];
}

// Searches by halving, because more elements take more bytes. A registry calls this for every
// layout whenever a job starts.
std::uint32_t chunk_elements(ElementLayout layout, const ChunkLimits& limits) {
  const std::uint32_t step = granule(layout);
  const std::uint32_t by_payload = INFOLD_PAYLOAD_BYTES_MAX / layout.element_bytes();
  std::uint32_t fits = 0;
  std::uint32_t too_many =
      std::min({limits.elements_max, by_payload, std::uint32_t{8192}}) / step + 1;
  while (too_many - fits > 1) {
    const std::uint32_t half = (fits + too_many) / 2;
    const bool has_room = datagram_bytes(layout, limits, half * step) <= limits.datagram_bytes_max;
    (has_room ? fits : too_many) = half;
  }
  return fits * step;
}

}  // namespace infold::core
