// SPDX-License-Identifier: Apache-2.0
//
// Chunks begin at whole blocks of the agreement, that is at even elements, because every chunk
// but a tensor's last has a multiple of 16 elements.
#include "codec/agreement.h"

#include <cstring>

#include "numeric/codec.h"

namespace infold::codec {
namespace {

constexpr std::uint16_t kCodeMask = static_cast<std::uint16_t>(~numeric::kAgreedSpecial);

struct Pair {
  std::int16_t code = 0;
  std::int16_t special = 0;
};

bool encode(const std::byte* tensor, core::ChunkRange range, const std::uint16_t*, std::byte*,
            std::byte* elements) {
  for (std::uint32_t i = 0; i < range.elements / 2; ++i) {
    std::uint16_t code = 0;
    std::memcpy(&code, tensor + (range.first / 2 + i) * sizeof(code), sizeof(code));
    const bool special = (code & numeric::kAgreedSpecial) != 0;
    const Pair pair = {static_cast<std::int16_t>(code & kCodeMask),
                       special ? std::int16_t{1} : std::int16_t{0}};
    std::memcpy(elements + i * sizeof(pair), &pair, sizeof(pair));
  }
  return false;
}

void decode(std::byte* tensor, core::ChunkRange range,
            const core::TensorCodec::Received& received) {
  for (std::uint32_t i = 0; i < range.elements / 2; ++i) {
    Pair pair;
    std::memcpy(&pair, received.elements + i * sizeof(pair), sizeof(pair));
    const auto flag = pair.special != 0 ? numeric::kAgreedSpecial : std::uint16_t{0};
    const auto code = static_cast<std::uint16_t>((pair.code & kCodeMask) | flag);
    std::memcpy(tensor + (range.first / 2 + i) * sizeof(code), &code, sizeof(code));
  }
}

// One byte per element, because a code is two bytes for two elements.
constexpr core::TensorCodec kCodec = {.element_bytes = 1, .encode = encode, .decode = decode};

}  // namespace

const core::TensorCodec& agreement_codec() { return kCodec; }

}  // namespace infold::codec
