// SPDX-License-Identifier: Apache-2.0
//
// The numbers that belong to each wire format (spec sections 3 and 4): widths, block lengths,
// exponent ranges and sizes in a datagram. Everything here is a pure function of constants.
#pragma once

#include <cstddef>
#include <cstdint>

#include <infold/vocabulary.h>

#include "wire/infold_wire.h"

namespace infold::core {

enum class WireFormat : std::uint8_t {
  i8 = INFOLD_FORMAT_I8,
  i16 = INFOLD_FORMAT_I16,
  i32 = INFOLD_FORMAT_I32,
  i64 = INFOLD_FORMAT_I64,
  bfp8 = INFOLD_FORMAT_BFP8,
  bfp16 = INFOLD_FORMAT_BFP16,
  bfp32 = INFOLD_FORMAT_BFP32,
  native = INFOLD_FORMAT_NATIVE,
};

using infold::DataType;
using infold::Priority;
using infold::Reduction;

constexpr bool is_float(DataType dtype) { return dtype <= DataType::f64; }

// Returns a name such as "bfp16".
const char* format_name(WireFormat format);

// Returns the integer format that is as wide as an element in memory.
constexpr WireFormat integer_format(DataType dtype) {
  switch (element_bytes(dtype)) {
    case 1: return WireFormat::i8;
    case 2: return WireFormat::i16;
    case 4: return WireFormat::i32;
    default: return WireFormat::i64;
  }
}

enum class Collective : std::uint8_t {
  all_reduce = INFOLD_COLLECTIVE_ALL_REDUCE,
  reduce = INFOLD_COLLECTIVE_REDUCE,
  broadcast = INFOLD_COLLECTIVE_BROADCAST,
  barrier = INFOLD_COLLECTIVE_BARRIER,
};

// The unpacked format byte. f64 tensors have longer blocks and wider exponents.
struct ElementLayout {
  WireFormat format = WireFormat::i32;
  DataType dtype = DataType::i32;

  constexpr bool is_block_float() const {
    return format >= WireFormat::bfp8 && format <= WireFormat::bfp32;
  }
  // The elements are the tensor's own floats, which aggregators sum exactly.
  constexpr bool is_native() const { return format == WireFormat::native; }
  // An aggregator sends its unrounded sum to a parent as PARTIAL.
  constexpr bool has_partial_sums() const { return is_block_float() || is_native(); }
  constexpr std::uint32_t element_bytes() const {
    if (is_native()) return infold::element_bytes(dtype);
    return is_block_float() ? 1U << (static_cast<unsigned>(format) - INFOLD_FORMAT_BFP8)
                            : 1U << static_cast<unsigned>(format);
  }

  constexpr bool wide_exponents() const { return dtype == DataType::f64; }
  // Blocks are counted with shifts, because a division would cost as much as reading a header.
  constexpr std::uint32_t block_shift() const { return wide_exponents() ? 6 : 5; }
  constexpr std::uint32_t block_elements() const { return 1U << block_shift(); }
  constexpr std::uint32_t exponent_code_bytes() const { return wide_exponents() ? 2 : 1; }
  constexpr std::int32_t exponent_bias() const {
    return wide_exponents() ? INFOLD_EXPONENT_BIAS_F64 : INFOLD_EXPONENT_BIAS;
  }
  constexpr std::int32_t exponent_code_max() const {
    return wide_exponents() ? INFOLD_EXPONENT_CODE_MAX_F64 : INFOLD_EXPONENT_CODE_MAX;
  }

  // The highest bit of a block's largest mantissa, whose magnitude lies in [2^top, 2^(top+1)).
  constexpr std::int32_t mantissa_top_bit() const {
    return static_cast<std::int32_t>(8 * element_bytes()) - 2;
  }
  // The limit is one below the integer maximum, because the outermost codes are infinities and NaN
  //
  constexpr std::int64_t mantissa_limit() const {
    return (std::int64_t{1} << (mantissa_top_bit() + 1)) - 2;
  }
  constexpr std::int64_t code_nan() const { return -mantissa_limit() - 2; }
  constexpr std::int64_t code_plus_infinity() const { return mantissa_limit() + 1; }
  constexpr std::int64_t code_minus_infinity() const { return -mantissa_limit() - 1; }

  // The value of mantissa 1 in a block with exponent code `code` is 2^unit_exponent(code).
  constexpr std::int32_t unit_exponent(std::int32_t code) const {
    return code - exponent_bias() - mantissa_top_bit();
  }

  constexpr std::uint32_t block_count(std::uint32_t elements) const {
    return (elements + block_elements() - 1) >> block_shift();
  }
  // The bytes of exponent codes in a datagram, padded so that elements stay aligned.
  constexpr std::uint32_t exponent_bytes(std::uint32_t elements) const {
    return is_block_float() ? (block_count(elements) * exponent_code_bytes() + 3) & ~3U : 0;
  }
  constexpr std::uint32_t payload_bytes(std::uint32_t elements) const {
    return exponent_bytes(elements) + elements * element_bytes();
  }
  // The bytes before and after the lanes in the body of an aggregator's exact partial sum. The body
  // has the lowest and the highest code of each block, then 64-bit lanes, and with specials two bit
  // sets after the lanes.
  constexpr std::uint32_t partial_exponent_bytes(std::uint32_t elements) const {
    return (2 * block_count(elements) * exponent_code_bytes() + 7) & ~7U;
  }
  constexpr std::uint32_t partial_special_bytes(std::uint32_t elements) const {
    return 2 * (((elements + 63) / 64) * 8);
  }
};

constexpr std::uint32_t ceil_log2(std::uint32_t value) {
  std::uint32_t bits = 0;
  while ((std::uint64_t{1} << bits) < value) ++bits;
  return bits;
}

// Returns how far apart two ranks' exponents of one block may lie so that their sum is exact in a
// 64-bit lane. A mantissa is below 2^(top+1) and is shifted up by at most this, so that the sum
// over `world` ranks stays within 2^63.
constexpr std::int32_t exponent_spread_max(ElementLayout layout, std::uint32_t world) {
  return 63 - (layout.mantissa_top_bit() + 1) - static_cast<std::int32_t>(ceil_log2(world));
}

struct ChunkLimits {
  std::uint32_t datagram_bytes_max = 0;              // the UDP payload that the path carries
  std::uint32_t elements_max = INFOLD_ELEMENTS_MAX;  // the smallest limit of any plane in the job
  bool tree = false;    // some aggregator has a parent, so partial sums must fit as well
  bool tagged = false;  // datagrams carry a keyed tag
};

// Returns the job's elements per chunk for one layout: as many whole granules as fit.
std::uint32_t chunk_elements(ElementLayout layout, const ChunkLimits& limits);

// Packets carry the numbers of the shared enumerations.
template <typename Enum>
constexpr bool is_on_wire(Enum value, int number) {
  return static_cast<int>(value) == number;
}
static_assert(is_on_wire(DataType::f32, INFOLD_DTYPE_F32));
static_assert(is_on_wire(DataType::f16, INFOLD_DTYPE_F16));
static_assert(is_on_wire(DataType::bf16, INFOLD_DTYPE_BF16));
static_assert(is_on_wire(DataType::f64, INFOLD_DTYPE_F64));
static_assert(is_on_wire(DataType::i8, INFOLD_DTYPE_I8));
static_assert(is_on_wire(DataType::u8, INFOLD_DTYPE_U8));
static_assert(is_on_wire(DataType::i32, INFOLD_DTYPE_I32));
static_assert(is_on_wire(DataType::i64, INFOLD_DTYPE_I64));
static_assert(is_on_wire(Reduction::sum, INFOLD_REDUCTION_SUM));
static_assert(is_on_wire(Reduction::average, INFOLD_REDUCTION_AVERAGE));
static_assert(is_on_wire(Reduction::min, INFOLD_REDUCTION_MIN));
static_assert(is_on_wire(Reduction::max, INFOLD_REDUCTION_MAX));
static_assert(is_on_wire(Reduction::bit_or, INFOLD_REDUCTION_OR));

static_assert(ElementLayout{WireFormat::bfp32, DataType::f32}.block_elements() ==
              INFOLD_BLOCK_ELEMENTS);
static_assert(ElementLayout{WireFormat::bfp32, DataType::f64}.block_elements() ==
              INFOLD_BLOCK_ELEMENTS_F64);

}  // namespace infold::core
