// SPDX-License-Identifier: Apache-2.0
#include "study/emulate/contribution.h"

#include <array>
#include <bit>
#include <cstddef>
#include <cstring>
#include <vector>

#include "numeric/codec.h"
#include "study/sim/nodes/zeros.h"
#include "wire/infold_wire.h"

namespace infold::emulate {
namespace {

constexpr unsigned kDataTypes = static_cast<unsigned>(core::DataType::i64) + 1;
// The longest chunk may begin at any of the values.
constexpr std::uint32_t kTableElements = oracle::kWholeValues + INFOLD_ELEMENTS_MAX;

// bf16 is the upper half of an f32 whose lower half is zero. f16 holds small whole numbers exactly.
std::uint16_t f16_of(std::int32_t value) {
  if (value == 0) return 0;
  const std::uint32_t sign = value < 0 ? 0x8000U : 0U;
  const auto size = static_cast<std::uint32_t>(value < 0 ? -value : value);
  const auto power = static_cast<std::uint32_t>(std::bit_width(size)) - 1;
  return static_cast<std::uint16_t>(sign | (power + 15) << 10 | ((size << (10 - power)) & 0x3FFU));
}

template <typename Element>
void store(std::byte* at, Element element) {
  std::memcpy(at, &element, sizeof element);
}

void write_value(core::DataType type, std::int32_t value, std::byte* at) {
  switch (type) {
    case core::DataType::f32: return store(at, static_cast<float>(value));
    case core::DataType::f64: return store(at, static_cast<double>(value));
    case core::DataType::f16: return store(at, f16_of(value));
    case core::DataType::bf16: {
      const auto bits = std::bit_cast<std::uint32_t>(static_cast<float>(value));
      return store(at, static_cast<std::uint16_t>(bits >> 16));
    }
    case core::DataType::i8: return store(at, static_cast<std::int8_t>(value));
    case core::DataType::u8: return store(at, static_cast<std::uint8_t>(value + 128));
    case core::DataType::i32: return store(at, value);
    case core::DataType::i64: return store(at, std::int64_t{value});
  }
}

// The table holds all elements that any rank contributes, side by side and in order, so that each
// chunk is a stretch of it.
const std::byte* stretch_of(const Contribution& own, core::ChunkRange range) {
  static const auto kTables = [] {
    std::array<std::vector<std::byte>, kDataTypes> tables;
    for (unsigned type = 0; type < kDataTypes; ++type) {
      const auto dtype = static_cast<core::DataType>(type);
      tables[type].resize(std::size_t{kTableElements} * element_bytes(dtype));
      for (std::uint32_t i = 0; i < kTableElements; ++i) {
        write_value(dtype, generated_value(dtype, 0, i),
                    tables[type].data() + std::size_t{i} * element_bytes(dtype));
      }
    }
    return tables;
  }();
  const std::uint32_t first = oracle::whole_value_of_rank_0(range.first, own.rank);
  return kTables[static_cast<std::size_t>(own.layout.dtype)].data() +
         std::size_t{first} * element_bytes(own.layout.dtype);
}

bool encode(const void* context, const std::byte* /*tensor*/, core::ChunkRange range,
            const std::uint16_t* codes, std::byte* exponents, std::byte* elements) {
  const auto& own = *static_cast<const Contribution*>(context);
  if (own.codec == nullptr) {
    sim::write_zeros(own.layout, range, exponents, elements);
    return false;
  }
  return own.codec->encode(nullptr, stretch_of(own, range), {0, range.elements}, codes, exponents,
                           elements);
}

void decode(void* /*context*/, std::byte* /*tensor*/, core::ChunkRange /*range*/,
            const core::TensorCodec::Received& /*received*/) {}

}  // namespace

const core::TensorCodec& contribution_codec() {
  static constexpr core::TensorCodec kCodec = {
      .element_bytes = 0, .encode = encode, .decode = decode};
  return kCodec;
}

const core::TensorCodec* codec_of_generated(const join::TransferNote& note) {
  if (note.has_codes || note.encoding != 0 || note.sized_later) return nullptr;
  return numeric::codec(note.layout.dtype, note.layout.format, note.reduction, note.collective);
}

}  // namespace infold::emulate
