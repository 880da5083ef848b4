// SPDX-License-Identifier: Apache-2.0
//
// Derives values from hashes.
#include "study/oracle/values.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "base/prng.h"

namespace infold::oracle {
namespace {

struct FloatShape {
  std::int32_t exponent_bits;
  std::int32_t fraction_bits;

  constexpr std::int32_t bias() const { return (1 << (exponent_bits - 1)) - 1; }
};

constexpr FloatShape shape_of(core::DataType dtype) {
  switch (dtype) {
    case core::DataType::f16: return {5, 10};
    case core::DataType::bf16: return {8, 7};
    case core::DataType::f64: return {11, 52};
    default: return {8, 23};
  }
}

// Joins the fields of a float into its bits. An exponent below the normal ones gives a subnormal
// number, and an exponent above them gives the largest finite one.
std::uint64_t compose(FloatShape shape, bool negative, std::int32_t exponent,
                      std::uint64_t fraction) {
  const std::int32_t largest = 2 * shape.bias();
  const std::int32_t field = std::clamp(exponent + shape.bias(), 0, largest);
  fraction &= (std::uint64_t{1} << shape.fraction_bits) - 1;
  const std::uint64_t sign = std::uint64_t{negative} << (shape.exponent_bits + shape.fraction_bits);
  return sign | static_cast<std::uint64_t>(field) << shape.fraction_bits | fraction;
}

// Makes one number in sixteen special. An exponent field of all ones is an infinity or NaN.
std::uint64_t special(FloatShape shape, std::uint64_t hash, std::uint64_t ordinary) {
  if ((hash >> 52 & 15) != 0) return ordinary;
  const bool negative = (hash & 1) != 0;
  const std::uint64_t infinity =
      compose(shape, negative, -shape.bias(), 0) | ((std::uint64_t{1} << shape.exponent_bits) - 1)
                                                       << shape.fraction_bits;
  switch (hash >> 56 & 7) {
    case 0:
    case 1: return infinity;
    case 2: return infinity | 1;                                               // a signalling NaN
    case 3: return compose(shape, negative, -shape.bias(), 0);                 // a signed zero
    case 4: return compose(shape, negative, -shape.bias(), hash >> 3);         // subnormal
    case 5: return compose(shape, negative, shape.bias(), ~std::uint64_t{0});  // the largest
    default: return ordinary;
  }
}

std::uint64_t float_bits(const ValueSource& source, std::uint64_t hash, std::uint64_t block_hash) {
  const FloatShape shape = shape_of(source.dtype);
  const bool negative = (hash & 1) != 0;
  const std::uint64_t fraction = hash >> 8;
  // Each step down is half as likely as the one before, as for the exponents of uniform numbers.
  const std::int32_t steps = std::countl_zero(base::mix64(hash) | 1);
  const std::int32_t span = 2 * shape.bias();
  switch (source.kind) {
    case ValueKind::heavy: {
      const auto wide = static_cast<std::int32_t>(hash >> 58 & 7);
      return compose(shape, negative, 3 - steps - 2 * wide, fraction);
    }
    case ValueKind::apart: {
      const auto base = static_cast<std::int32_t>(block_hash % static_cast<std::uint64_t>(span));
      return compose(shape, negative, base - shape.bias() - steps, fraction);
    }
    case ValueKind::sparse:
      if ((block_hash & 7) != 0) return 0;
      // In half of the other blocks, most quarters are also zeros.
      if ((block_hash & 8) != 0 && (hash >> 40 & 31) != 0) return 0;
      break;
    case ValueKind::special:
      return special(shape, base::mix64(hash + 1), compose(shape, negative, -1 - steps, fraction));
    case ValueKind::extreme:
      return compose(shape, (hash & 7) == 0, shape.bias() - (steps & 3), fraction);
    case ValueKind::smooth:
    case ValueKind::count_: break;
  }
  return compose(shape, negative, -1 - steps, fraction);
}

std::uint64_t integer_bits(const ValueSource& source, std::uint64_t hash) {
  switch (source.kind) {
    case ValueKind::smooth:
      return static_cast<std::uint64_t>(static_cast<std::int64_t>(hash % 127) - 63);
    case ValueKind::sparse: return (hash & 7) != 0 ? 0 : hash >> 8;
    default: return hash;
  }
}

}  // namespace

const char* value_kind_name(ValueKind kind) {
  switch (kind) {
    case ValueKind::smooth: return "smooth";
    case ValueKind::heavy: return "heavy";
    case ValueKind::apart: return "apart";
    case ValueKind::sparse: return "sparse";
    case ValueKind::special: return "special";
    case ValueKind::extreme: return "extreme";
    case ValueKind::count_: break;
  }
  return "unknown";
}

void fill_values(const ValueSource& source, std::uint16_t rank, std::span<std::byte> tensor) {
  const std::uint32_t bytes = element_bytes(source.dtype);
  const bool draws_float = core::is_float(source.dtype);
  const std::uint64_t stream = base::mix64(source.seed + (rank + 1ULL) * 0x9E3779B97F4A7C15ULL);
  std::uint64_t block_hash = 0;
  for (std::size_t i = 0; i < tensor.size() / bytes; ++i) {
    // The scale changes every 32 elements for all types, so a block of f64 has two scales.
    if (i % INFOLD_BLOCK_ELEMENTS == 0) {
      block_hash = base::mix64(stream ^ (i / INFOLD_BLOCK_ELEMENTS << 20));
    }
    const std::uint64_t hash = base::mix64(stream + i * 0xD1B54A32D192ED03ULL);
    const std::uint64_t bits =
        draws_float ? float_bits(source, hash, block_hash) : integer_bits(source, hash);
    std::memcpy(tensor.data() + i * bytes, &bits, bytes);
  }
}

}  // namespace infold::oracle
