// SPDX-License-Identifier: Apache-2.0
//
// Each code takes two elements on the wire.
#include "study/sim/nodes/agreed_codes.h"

#include <cstring>

namespace infold::sim {
namespace {

constexpr std::uint16_t kSpecial = 0x8000;

std::uint16_t load_code(const std::byte* tensor, std::uint64_t block) {
  std::uint16_t code;
  std::memcpy(&code, tensor + block * sizeof(code), sizeof(code));
  return code;
}

bool encode(const void*, const std::byte* tensor, core::ChunkRange range, const std::uint16_t*,
            std::byte*, std::byte* elements) {
  for (std::uint32_t i = 0; i < range.elements; ++i) {
    const std::uint16_t code = load_code(tensor, (range.first + i) / 2);
    const std::int32_t element = i % 2 == 0 ? code & ~kSpecial : code >> 15;
    std::memcpy(elements + i * sizeof(element), &element, sizeof(element));
  }
  return false;
}

// Chunks hold an even number of elements, so a code is never split.
void decode(void*, std::byte* tensor, core::ChunkRange range,
            const core::TensorCodec::Received& received) {
  for (std::uint32_t i = 0; i + 1 < range.elements; i += 2) {
    std::int32_t pair[2];
    std::memcpy(pair, received.elements + i * sizeof(pair[0]), sizeof(pair));
    const auto code = static_cast<std::uint16_t>(pair[0] | (pair[1] != 0 ? kSpecial : 0));
    std::memcpy(tensor + (range.first + i) / 2 * sizeof(code), &code, sizeof(code));
  }
}

constexpr core::TensorCodec kCodec = {
    .element_bytes = sizeof(std::uint16_t), .encode = encode, .decode = decode};

}  // namespace

const core::TensorCodec& agreed_codes_codec() { return kCodec; }

}  // namespace infold::sim
