// SPDX-License-Identifier: Apache-2.0
#include "sim/nodes/zeros.h"

#include <cstring>

#include "core/format.h"

namespace infold::sim {
namespace {

bool encode(const void* context, const std::byte* /*tensor*/, core::ChunkRange range,
            const std::uint16_t* /*codes*/, std::byte* exponents, std::byte* elements) {
  const auto& layout = *static_cast<const core::ElementLayout*>(context);
  std::memset(exponents, 0, layout.exponent_bytes(range.elements));
  std::memset(elements, 0, std::size_t{range.elements} * layout.element_bytes());
  return false;
}

void decode(void* /*context*/, std::byte* /*tensor*/, core::ChunkRange /*range*/,
            const core::TensorCodec::Received& /*received*/) {}

}  // namespace

const core::TensorCodec& zeros_codec() {
  static constexpr core::TensorCodec kCodec = {
      .element_bytes = 0, .encode = encode, .decode = decode};
  return kCodec;
}

}  // namespace infold::sim
