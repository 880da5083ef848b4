// SPDX-License-Identifier: Apache-2.0
#include "core/packet/exact_body.h"

#include <algorithm>
#include <cstring>

#include "base/check.h"
#include "core/exact/bins.h"

namespace infold::core {
namespace {

infold_exact read_head(const std::byte* body) {
  infold_exact head;
  std::memcpy(&head, body, sizeof(head));
  return head;
}

// Returns the bytes of the 16-bit indices, padded so that doubles stay aligned.
std::uint32_t index_bytes(DataType dtype, std::uint32_t lows) {
  return dtype == DataType::f64 ? 0 : (2 * lows + 7) & ~7U;
}

std::uint32_t expected_bytes(const infold_exact& head, DataType dtype, std::uint32_t elements) {
  if (head.part == 0) return exact_body_bytes(dtype, elements, infold_from_be16(head.lows));
  return static_cast<std::uint32_t>(sizeof(head)) + head.rows * elements * 4;
}

bool is_sound(const infold_exact& head, DataType dtype, std::uint32_t elements) {
  const std::uint32_t lows = infold_from_be16(head.lows);
  if (head.parts == 0 || head.parts > kExactPartsMax || head.part >= head.parts) return false;
  if (head.reserved.wire != 0) return false;
  if (head.part != 0) {
    return lows == 0 && head.rows > 0 && head.first_row + head.rows <= bin_layout(dtype).rows;
  }
  if (head.first_row != 0 || head.rows != 0) return false;
  return lows <= exact_lows_max(dtype, elements) &&
         (dtype != DataType::f64 || lows == 0 || lows == elements);
}

}  // namespace

std::uint32_t exact_body_bytes(DataType dtype, std::uint32_t elements, std::uint32_t lows) {
  return static_cast<std::uint32_t>(sizeof(infold_exact)) + 8 * elements +
         index_bytes(dtype, lows) + 8 * lows;
}

Malformed check_exact(const Packet& packet) {
  const DataType dtype = packet.header.signature.layout().dtype;
  const std::uint32_t elements = packet.header.signature.elements;
  if (packet.body.size() < sizeof(infold_exact)) return Malformed::truncated;
  const infold_exact head = read_head(packet.body.data());
  if (!is_sound(head, dtype, elements)) return Malformed::exact;
  const std::uint32_t expected = expected_bytes(head, dtype, elements);
  if (packet.body.size() < expected) return Malformed::truncated;
  if (packet.body.size() > expected) return Malformed::oversized;
  const std::uint32_t lows = infold_from_be16(head.lows);
  if (head.part != 0 || dtype == DataType::f64) return Malformed::none;
  const std::byte* const indices = packet.body.data() + sizeof(head) + 8 * std::size_t{elements};
  std::uint32_t least = 0;  // indices rise
  for (std::uint32_t pair = 0; pair < index_bytes(dtype, lows) / 2; ++pair) {
    std::uint16_t index;
    std::memcpy(&index, indices + 2 * pair, sizeof(index));
    const bool is_padding = pair >= lows;
    if (is_padding ? index != 0 : index < least || index >= elements) return Malformed::exact;
    least = index + 1U;
  }
  return Malformed::none;
}

ExactBody read_exact(const Packet& packet) {
  const DataType dtype = packet.header.signature.layout().dtype;
  const std::uint32_t elements = packet.header.signature.elements;
  const infold_exact head = read_head(packet.body.data());
  // Another process may have changed the head in shared memory since the check; the part counts as
  // empty then.
  const bool holds = is_sound(head, dtype, elements) &&
                     expected_bytes(head, dtype, elements) <= packet.body.size();
  ExactBody body;
  if (!holds) return body;
  body.part = head.part;
  body.parts = head.parts;
  const std::byte* const at = packet.body.data() + sizeof(head);
  if (head.part != 0) {
    body.first_row = head.first_row;
    body.rows = head.rows;
    body.digits = at;
    return body;
  }
  body.lows = infold_from_be16(head.lows);
  body.high = at;
  body.low_indices = dtype == DataType::f64 ? nullptr : at + 8 * std::size_t{elements};
  body.lows_at = at + 8 * std::size_t{elements} + index_bytes(dtype, body.lows);
  return body;
}

std::uint32_t ExactBody::low_index(std::uint32_t pair, std::uint32_t elements) const {
  std::uint16_t index;
  std::memcpy(&index, low_indices + 2 * std::size_t{pair}, sizeof(index));
  return std::min<std::uint32_t>(index, elements - 1);
}

std::uint32_t write_exact_head(std::uint32_t part, std::uint32_t parts, std::uint32_t first_row,
                               std::uint32_t rows, std::byte* body) {
  CHECK_THAT(parts, <=, kExactPartsMax);
  infold_exact head{};
  head.part = static_cast<std::uint8_t>(part);
  head.parts = static_cast<std::uint8_t>(parts);
  head.first_row = static_cast<std::uint8_t>(first_row);
  head.rows = static_cast<std::uint8_t>(rows);
  std::memcpy(body, &head, sizeof(head));
  return static_cast<std::uint32_t>(sizeof(head));
}

std::uint32_t write_exact_doubles(DataType dtype, std::uint32_t elements, std::uint32_t parts,
                                  const double* high, const double* low, std::byte* body) {
  write_exact_head(0, parts, 0, 0, body);
  std::byte* const at = body + sizeof(infold_exact);
  std::memcpy(at, high, 8 * std::size_t{elements});
  std::byte* const behind = at + 8 * std::size_t{elements};
  std::uint32_t lows = 0;
  if (low != nullptr && dtype == DataType::f64) {
    lows = elements;
    std::memcpy(behind, low, 8 * std::size_t{elements});
  } else if (low != nullptr) {
    const auto used = static_cast<std::uint32_t>(
        std::count_if(low, low + elements, [](double each) { return each != 0; }));
    CHECK_THAT(used, <=, exact_lows_max(dtype, elements));
    std::memset(behind, 0, index_bytes(dtype, used));
    for (std::uint32_t i = 0; i < elements; ++i) {
      if (low[i] == 0) continue;
      const auto index = static_cast<std::uint16_t>(i);
      std::memcpy(behind + 2 * std::size_t{lows}, &index, sizeof(index));
      std::memcpy(behind + index_bytes(dtype, used) + 8 * std::size_t{lows}, &low[i], 8);
      ++lows;
    }
  }
  const infold_be16 count = infold_to_be16(static_cast<std::uint16_t>(lows));
  std::memcpy(body + offsetof(infold_exact, lows), &count, sizeof(count));
  return exact_body_bytes(dtype, elements, lows);
}

}  // namespace infold::core
