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

#if HWY_TARGET == HWY_SCALAR

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

  // Plain codes when encoding: half a unit is at least the smallest normal number, and the
  // exponent field that the code is made of was neither all zeros nor, after a carry, all ones.
  static constexpr std::int32_t kCodeOfField = kLayout.exponent_bias() - W::kBias;
  static constexpr std::int32_t kEncodeFirst =
      std::max(1 + std::max(0, kCodeOfField),
               2 - W::kBias + kLayout.exponent_bias() + kLayout.mantissa_top_bit());
  static constexpr std::int32_t kEncodeLast = 2 * W::kBias + kCodeOfField;

  // And when decoding: the unit, and a unit over the largest divisor, are normal numbers.
  static constexpr std::int32_t kDecodeFirst =
      33 - W::kBias + kLayout.exponent_bias() + kLayout.mantissa_top_bit();
  static constexpr std::int32_t kDecodeLast = std::min(
      kLayout.exponent_code_max(), W::kBias + kLayout.exponent_bias() + kLayout.mantissa_top_bit());

  static HWY_INLINE void encode_plain(const Bits* tensor, std::int32_t code, Mantissa* mantissas) {
    const hn::CappedTag<Wide<Format>, kElements> d;
    const auto scale = hn::Set(d, power_of_two<W>(-kLayout.unit_exponent(code)));
    for (std::uint32_t i = 0; i < kElements; i += static_cast<std::uint32_t>(hn::Lanes(d))) {
      store_mantissas(d, hn::Mul(load_floats<Format>(d, tensor + i), scale), mantissas + i);
    }
  }

  static HWY_INLINE void decode_plain(const Mantissa* mantissas, Wide<Format> unit, Bits* tensor) {
    const hn::CappedTag<Wide<Format>, kElements> d;
    const auto scale = hn::Set(d, unit);
    for (std::uint32_t i = 0; i < kElements; i += static_cast<std::uint32_t>(hn::Lanes(d))) {
      store_floats<Format>(d, hn::Mul(load_mantissas(d, mantissas + i), scale), tensor + i);
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

template <typename Format, typename Mantissa>
HWY_INLINE BlockCode encode_whole(const typename Format::Bits* tensor,
                                  typename WideFormat<Format>::Bits largest, std::uint16_t floor,
                                  Mantissa* mantissas) {
  using B = Block<Format, Mantissa>;
  constexpr auto kCarry = code_carry<WideFormat<Format>, Mantissa>();
  const auto field =
      static_cast<std::int32_t>((largest + kCarry) >> WideFormat<Format>::kFractionBits);
  const std::int32_t code = field + B::kCodeOfField;
  if (code >= B::kEncodeFirst && code <= B::kEncodeLast && floor <= code) {
    B::encode_plain(tensor, code, mantissas);
    return {static_cast<std::uint16_t>(code), false};
  }
  if (largest == 0) {
    std::memset(mantissas, 0, B::kElements * sizeof(Mantissa));
    return {};
  }
  return encode_block<Format, Mantissa>(reinterpret_cast<const std::byte*>(tensor), B::kElements,
                                        floor, reinterpret_cast<std::byte*>(mantissas));
}

// Maxima of a few blocks are found before the first is converted, so that their latencies overlap.
constexpr std::uint32_t kGroup = 8;

template <typename Format, typename Mantissa>
bool encode(const std::byte* tensor, core::ChunkRange range, const std::uint16_t* codes,
            std::byte* exponents, std::byte* elements) {
  using B = Block<Format, Mantissa>;
  const auto* source = reinterpret_cast<const typename Format::Bits*>(tensor) + range.first;
  auto* target = reinterpret_cast<Mantissa*>(elements);
  bool specials = false;
  const std::uint32_t whole = range.elements / B::kElements;
  for (std::uint32_t first = 0; first < whole; first += kGroup) {
    const std::uint32_t end = std::min(whole, first + kGroup);
    typename WideFormat<Format>::Bits largest[kGroup];
    for (std::uint32_t block = first; block < end; ++block) {
      largest[block - first] =
          wide_bits<Format>(largest_bits<Format, B::kElements>(source + block * B::kElements));
    }
    for (std::uint32_t block = first; block < end; ++block) {
      const BlockCode result = encode_whole<Format, Mantissa>(
          source + block * B::kElements, largest[block - first],
          codes == nullptr ? std::uint16_t{0} : codes[block], target + block * B::kElements);
      write_code<B::kLayout.wide_exponents()>(exponents, block, result.code);
      specials |= result.specials;
    }
  }
  if (const std::uint32_t done = whole * B::kElements; done < range.elements) {
    const BlockCode result = encode_block<Format, Mantissa>(
        reinterpret_cast<const std::byte*>(source + done), range.elements - done,
        codes == nullptr ? std::uint16_t{0} : codes[whole],
        reinterpret_cast<std::byte*>(target + done));
    write_code<B::kLayout.wide_exponents()>(exponents, whole, result.code);
    specials |= result.specials;
  }
  write_padding(exponents, B::kLayout, range.elements);
  return specials;
}

template <typename Format, typename Mantissa>
HWY_INLINE void decode_whole(const Mantissa* mantissas, BlockScale scale,
                             typename Format::Bits* tensor) {
  using B = Block<Format, Mantissa>;
  const auto code = static_cast<std::int32_t>(scale.code);
  const bool special = scale.specials && B::has_special_codes(mantissas);
  if (code >= B::kDecodeFirst && code <= B::kDecodeLast && !special) {
    const std::int32_t unit = B::kLayout.unit_exponent(code);
    if (std::has_single_bit(scale.divisor)) {
      const std::int32_t divided = unit - std::countr_zero(scale.divisor);
      B::decode_plain(mantissas, power_of_two<typename B::W>(divided), tensor);
    } else {
      B::decode_quotient(mantissas, 1.0 / scale.divisor * power_of_two<F64>(unit), tensor);
    }
  } else if (code == 0 && !special) {
    std::memset(tensor, 0, B::kElements * sizeof(typename Format::Bits));
  } else {
    decode_block<Format, Mantissa>(reinterpret_cast<std::byte*>(tensor), B::kElements, scale,
                                   reinterpret_cast<const std::byte*>(mantissas));
  }
}

template <typename Format, typename Mantissa, core::Reduction kReduction>
void decode(std::byte* tensor, core::ChunkRange range,
            const core::TensorCodec::Received& received) {
  using B = Block<Format, Mantissa>;
  const auto* source = reinterpret_cast<const Mantissa*>(received.elements);
  auto* target = reinterpret_cast<typename Format::Bits*>(tensor) + range.first;
  BlockScale scale = {.code = 0, .divisor = 1, .specials = received.specials};
  if (kReduction == core::Reduction::average) scale.divisor = std::max(received.divisor, 1U);
  const std::uint32_t whole = range.elements / B::kElements;
  for (std::uint32_t block = 0; block < whole; ++block) {
    scale.code = read_code<B::kLayout.wide_exponents()>(received.exponents, block);
    decode_whole<Format>(source + block * B::kElements, scale, target + block * B::kElements);
  }
  if (const std::uint32_t done = whole * B::kElements; done < range.elements) {
    scale.code = read_code<B::kLayout.wide_exponents()>(received.exponents, whole);
    decode_block<Format, Mantissa>(reinterpret_cast<std::byte*>(target + done),
                                   range.elements - done, scale,
                                   reinterpret_cast<const std::byte*>(source + done));
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

#endif  // HWY_TARGET == HWY_SCALAR

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
