// SPDX-License-Identifier: Apache-2.0
//
// Block floats in vectors. A block is plain if its unit and its values are normal numbers and no
// floor is above its own code; every other block, and a partial one at the tensor's end, goes to
// the scalar loops. In a plain block a multiplication by a power of two is exact, so that one
// conversion is the only rounding, and a subnormal element rounds to zero whether or not the
// processor flushes it. Assumes the default rounding mode, as all compiled code does.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "numeric/vector_block_codec.cc"
#include <algorithm>
#include <bit>
#include <cstring>

#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "numeric/block_float.h"
#include "numeric/exponents.h"
#include "numeric/scalar_codecs.h"
#include "numeric/vector_floats-inl.h"
#include "numeric/vector_sets.h"

HWY_BEFORE_NAMESPACE();
namespace infold::numeric {
namespace HWY_NAMESPACE {
namespace {

#if !INFOLD_VECTOR_BLOCKS

BlockCodecLookup make_block_lookup() { return scalar_block_codec; }

#else

// 2^exponent. Requires: a normal number.
template <typename Format>
HWY_INLINE auto power_of_two(std::int32_t exponent) {
  using Bits = typename Format::Bits;
  return std::bit_cast<Wide<Format>>(
      static_cast<Bits>(static_cast<Bits>(exponent + Format::kBias) << Format::kFractionBits));
}

template <typename Format, typename Mantissa>
struct Block {
  static constexpr core::ElementLayout kLayout = block_layout<Format, Mantissa>();
  static constexpr std::uint32_t kElements = kLayout.block_elements();
  using W = WideFormat<Format>;
  using Bits = typename Format::Bits;

  static constexpr bool kPairs = std::is_same_v<Format, Bf16> && sizeof(Mantissa) == 2;
  static constexpr typename W::Bits kCarry = code_carry<W, Mantissa>();

  // Plain codes when encoding: half a unit is at least the smallest normal number, and the
  // exponent field that the code is made of was neither all zeros nor, after a carry, all ones.
  static constexpr std::int32_t kCodeOfField = kLayout.exponent_bias() - W::kBias;
  static constexpr std::int32_t kEncodeFirst =
      std::max(1 + std::max(0, kCodeOfField),
               2 - W::kBias + kLayout.exponent_bias() + kLayout.mantissa_top_bit());
  static constexpr std::int32_t kEncodeLast = 2 * W::kBias + kCodeOfField;

  // And when decoding: the unit, and a unit over the largest divisor, are normal numbers.
  static constexpr std::uint32_t kDecodeFirst =
      33 - W::kBias + kLayout.exponent_bias() + kLayout.mantissa_top_bit();
  // Pairs of bf16 take another 33 bits above the unit.
  static constexpr std::uint32_t kDecodeLast =
      std::min(kLayout.exponent_code_max(),
               W::kBias + kLayout.exponent_bias() + kLayout.mantissa_top_bit() - (kPairs ? 33 : 0));

  static HWY_INLINE void encode_plain(const Bits* tensor, Wide<Format> inverse_unit,
                                      Mantissa* mantissas) {
    if constexpr (kPairs) {
      encode_bf16_pairs<kElements>(tensor, inverse_unit, mantissas);
    } else {
      const hn::CappedTag<Wide<Format>, kElements> d;
      const auto scale = hn::Set(d, inverse_unit);
      for (std::uint32_t i = 0; i < kElements; i += static_cast<std::uint32_t>(hn::Lanes(d))) {
        store_mantissas(d, load_floats<Format>(d, tensor + i), scale, mantissas + i);
      }
    }
  }

  static HWY_INLINE void decode_plain(const Mantissa* mantissas, Wide<Format> unit, Bits* tensor) {
    if constexpr (kPairs) {
      decode_bf16_pairs<kElements>(mantissas, unit, tensor);
    } else {
      const hn::CappedTag<Wide<Format>, kElements> d;
      const auto scale = hn::Set(d, unit);
      for (std::uint32_t i = 0; i < kElements; i += static_cast<std::uint32_t>(hn::Lanes(d))) {
        store_floats<Format>(d, hn::Mul(load_mantissas(d, mantissas + i), scale), tensor + i);
      }
    }
  }

  // Divisors other than powers of two: the quotient is rounded to double, then once to f32.
  static HWY_INLINE void decode_quotient(const Mantissa* mantissas, double unit, Bits* tensor) {
    const hn::CappedTag<double, kElements> dd;
    const hn::Rebind<Wide<Format>, decltype(dd)> d;
    const auto scale = hn::Set(dd, unit);
    for (std::uint32_t i = 0; i < kElements; i += static_cast<std::uint32_t>(hn::Lanes(dd))) {
      const auto quotient = hn::Mul(load_mantissas(dd, mantissas + i), scale);
      if constexpr (Format::kWidth == 64) {
        store_floats<Format>(d, quotient, tensor + i);
      } else {
        store_floats<Format>(d, hn::DemoteTo(d, quotient), tensor + i);
      }
    }
  }

  static HWY_INLINE bool has_special_codes(const Mantissa* mantissas) {
    const hn::CappedTag<Mantissa, kElements> d;
    const auto limit = hn::Set(d, static_cast<Mantissa>(kLayout.mantissa_limit()));
    auto beyond = hn::Zero(d);
    for (std::uint32_t i = 0; i < kElements; i += static_cast<std::uint32_t>(hn::Lanes(d))) {
      const auto value = hn::LoadU(d, mantissas + i);
      const auto outside = hn::Or(hn::Gt(value, limit), hn::Lt(value, hn::Neg(limit)));
      beyond = hn::Or(beyond, hn::VecFromMask(d, outside));
    }
    return !hn::AllTrue(d, hn::Eq(beyond, hn::Zero(d)));
  }
};

// One whole block of any kind.
template <typename Format, typename Mantissa>
HWY_INLINE BlockCode encode_one(const typename Format::Bits* tensor, std::uint16_t floor,
                                Mantissa* mantissas) {
  using B = Block<Format, Mantissa>;
  if constexpr (std::is_same_v<typename B::W, Format>) {
    const auto largest = largest_bits<B::kElements, Format>(tensor);
    const auto field = static_cast<std::int32_t>((largest + B::kCarry) >> Format::kFractionBits);
    const std::int32_t code = field + B::kCodeOfField;
    if (code >= B::kEncodeFirst && code <= B::kEncodeLast && floor <= code) {
      B::encode_plain(tensor, power_of_two<Format>(-B::kLayout.unit_exponent(code)), mantissas);
      return {static_cast<std::uint16_t>(code), false};
    }
    if (largest == 0) {
      std::memset(mantissas, 0, B::kElements * sizeof(Mantissa));
      return {};
    }
  }
  return encode_block<Format, Mantissa>(reinterpret_cast<const std::byte*>(tensor), B::kElements,
                                        floor, reinterpret_cast<std::byte*>(mantissas));
}

// Four whole blocks, if all are plain; else false, and nothing is written.
template <typename Format, typename Mantissa>
HWY_INLINE bool encode_four(const typename Format::Bits* tensor, std::byte* exponents,
                            Mantissa* mantissas) {
  using B = Block<Format, Mantissa>;
  const Four d;
  const auto largest = wide_bits<Format>(d, largest_of_four<B::kElements, Format>(tensor));
  const hn::RebindToSigned<Four> di;
  const auto field = hn::ShiftRight<F32::kFractionBits>(hn::Add(largest, hn::Set(d, B::kCarry)));
  const auto code = hn::Add(hn::BitCast(di, field), hn::Set(di, B::kCodeOfField));
  const auto plain = hn::And(hn::Gt(code, hn::Set(di, B::kEncodeFirst - 1)),
                             hn::Lt(code, hn::Set(di, B::kEncodeLast + 1)));
  if (!hn::AllTrue(di, plain)) return false;

  constexpr std::int32_t kFieldOfUnit = F32::kBias - B::kLayout.unit_exponent(0);
  alignas(16) float inverse_units[4];
  hn::Store(hn::ShiftLeft<F32::kFractionBits>(hn::Sub(hn::Set(di, kFieldOfUnit), code)), di,
            reinterpret_cast<std::int32_t*>(inverse_units));
  const hn::Rebind<std::uint8_t, Four> bytes;
  hn::StoreU(hn::TruncateTo(bytes, hn::BitCast(d, code)), bytes,
             reinterpret_cast<std::uint8_t*>(exponents));
  for (std::uint32_t block = 0; block < 4; ++block) {
    B::encode_plain(tensor + block * B::kElements, inverse_units[block],
                    mantissas + block * B::kElements);
  }
  return true;
}

template <typename Format, typename Mantissa>
bool encode(const std::byte* tensor, core::ChunkRange range, const std::uint16_t* codes,
            std::byte* exponents, std::byte* elements) {
  using B = Block<Format, Mantissa>;
  const auto* source = reinterpret_cast<const typename Format::Bits*>(tensor) + range.first;
  auto* target = reinterpret_cast<Mantissa*>(elements);
  bool specials = false;
  const auto put = [&](std::uint32_t block, BlockCode result) {
    write_code<B::kLayout.wide_exponents()>(exponents, block, result.code);
    specials |= result.specials;
  };

  const std::uint32_t whole = range.elements / B::kElements;
  for (std::uint32_t block = 0; block < whole;) {
    if constexpr (Format::kWidth < 64) {
      // The last four overlap blocks that are done: writing those again changes nothing.
      const std::uint32_t first = std::min(block, whole - std::min(whole, 4U));
      if (codes == nullptr && whole >= 4 &&
          encode_four<Format>(source + first * B::kElements, exponents + first,
                              target + first * B::kElements)) {
        block = first + 4;
        continue;
      }
    }
    put(block, encode_one<Format>(source + block * B::kElements,
                                  codes == nullptr ? std::uint16_t{0} : codes[block],
                                  target + block * B::kElements));
    ++block;
  }
  if (const std::uint32_t done = whole * B::kElements; done < range.elements) {
    put(whole, encode_block<Format, Mantissa>(reinterpret_cast<const std::byte*>(source + done),
                                              range.elements - done,
                                              codes == nullptr ? std::uint16_t{0} : codes[whole],
                                              reinterpret_cast<std::byte*>(target + done)));
  }
  write_padding(exponents, B::kLayout, range.elements);
  return specials;
}

// The blocks that are not plain.
template <typename Format, typename Mantissa>
HWY_NOINLINE void decode_rest(const Mantissa* mantissas, std::uint32_t count, BlockScale scale,
                              typename Format::Bits* tensor) {
  if (scale.code == 0 && !scale.specials) {
    std::memset(tensor, 0, count * sizeof(typename Format::Bits));
  } else {
    decode_block<Format, Mantissa>(reinterpret_cast<std::byte*>(tensor), count, scale,
                                   reinterpret_cast<const std::byte*>(mantissas));
  }
}

template <typename Format, typename Mantissa, bool kPowerOfTwo>
HWY_INLINE void decode_chunk(const core::TensorCodec::Received& received, std::uint32_t elements,
                             std::uint32_t divisor, typename Format::Bits* tensor) {
  using B = Block<Format, Mantissa>;
  const auto* mantissas = reinterpret_cast<const Mantissa*>(received.elements);
  const std::byte* exponents = received.exponents;
  const bool specials = received.specials;
  const std::int32_t halvings = std::countr_zero(divisor);
  const double inverse = 1.0 / divisor;
  const std::uint32_t whole = elements / B::kElements;
  for (std::uint32_t block = 0; block < whole; ++block) {
    const std::uint32_t code = read_code<B::kLayout.wide_exponents()>(exponents, block);
    const std::uint32_t first = block * B::kElements;
    const bool plain = code - B::kDecodeFirst <= B::kDecodeLast - B::kDecodeFirst &&
                       !(specials && B::has_special_codes(mantissas + first));
    const std::int32_t unit = B::kLayout.unit_exponent(static_cast<std::int32_t>(code));
    if (!plain) {
      decode_rest<Format>(mantissas + first, B::kElements, {code, divisor, specials},
                          tensor + first);
    } else if constexpr (kPowerOfTwo) {
      B::decode_plain(mantissas + first, power_of_two<typename B::W>(unit - halvings),
                      tensor + first);
    } else {
      B::decode_quotient(mantissas + first, inverse * power_of_two<F64>(unit), tensor + first);
    }
  }
  if (const std::uint32_t done = whole * B::kElements; done < elements) {
    const std::uint32_t code = read_code<B::kLayout.wide_exponents()>(exponents, whole);
    decode_rest<Format>(mantissas + done, elements - done, {code, divisor, specials},
                        tensor + done);
  }
}

template <typename Format, typename Mantissa, core::Reduction kReduction>
void decode(std::byte* tensor, core::ChunkRange range,
            const core::TensorCodec::Received& received) {
  auto* target = reinterpret_cast<typename Format::Bits*>(tensor) + range.first;
  const std::uint32_t divisor =
      kReduction == core::Reduction::average ? std::max(received.divisor, 1U) : 1;
  if (kReduction == core::Reduction::sum || std::has_single_bit(divisor)) {
    decode_chunk<Format, Mantissa, true>(received, range.elements, divisor, target);
  } else {
    decode_chunk<Format, Mantissa, false>(received, range.elements, divisor, target);
  }
}

template <typename Format, typename Mantissa, core::Reduction kReduction>
constexpr core::TensorCodec kCodec = {.element_bytes = sizeof(typename Format::Bits),
                                      .encode = encode<Format, Mantissa>,
                                      .decode = decode<Format, Mantissa, kReduction>};

template <typename Format, core::Reduction kReduction>
const core::TensorCodec* by_format(core::WireFormat format) {
  switch (format) {
    case core::WireFormat::bfp8: return &kCodec<Format, std::int8_t, kReduction>;
    case core::WireFormat::bfp16: return &kCodec<Format, std::int16_t, kReduction>;
    case core::WireFormat::bfp32: return &kCodec<Format, std::int32_t, kReduction>;
    default: return nullptr;
  }
}

template <core::Reduction kReduction>
const core::TensorCodec* by_type(core::DataType dtype, core::WireFormat format) {
  switch (dtype) {
    case core::DataType::f32: return by_format<F32, kReduction>(format);
    case core::DataType::f16: return by_format<F16, kReduction>(format);
    case core::DataType::bf16: return by_format<Bf16, kReduction>(format);
    case core::DataType::f64: return by_format<F64, kReduction>(format);
    default: return nullptr;
  }
}

const core::TensorCodec* block_lookup(core::DataType dtype, core::WireFormat format,
                                      core::Reduction reduction) {
  switch (reduction) {
    case core::Reduction::sum: return by_type<core::Reduction::sum>(dtype, format);
    case core::Reduction::average: return by_type<core::Reduction::average>(dtype, format);
    default: return nullptr;
  }
}

BlockCodecLookup make_block_lookup() { return block_lookup; }

#endif  // INFOLD_VECTOR_BLOCKS

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace infold::numeric
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace infold::numeric {
HWY_EXPORT(make_block_lookup);
BlockCodecLookup chosen_block_lookup() { return HWY_DYNAMIC_DISPATCH(make_block_lookup)(); }
}  // namespace infold::numeric
#endif
