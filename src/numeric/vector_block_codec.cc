// SPDX-License-Identifier: Apache-2.0
//
// Chunks of block floats in vectors, a group of blocks at a time where all are plain (see
// vector_block-inl.h). Every other block, one with a floor above its own code, and a partial one at
// the tensor's end go to the scalar loops. Assumes the default rounding mode, as all compiled code
// does.
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
#include "numeric/vector_block-inl.h"
#include "numeric/vector_sets.h"

HWY_BEFORE_NAMESPACE();
namespace infold::numeric {
namespace HWY_NAMESPACE {
namespace {

#if !INFOLD_VECTOR_BLOCKS

BlockCodecLookup make_block_lookup() { return scalar_block_codec; }

#else

using Four = hn::Full128<std::uint32_t>;

// Scales given as exponent fields, each read back from memory into all lanes: a shuffle and a
// broadcast in registers would keep the one port busy that the shuffles before need.
template <typename D>
class Scales {
 public:
  explicit HWY_INLINE Scales(hn::VFromD<D> fields) {
    if constexpr (hn::MaxLanes(D()) == 4) {
      put(0, fields);
    } else {
      const hn::Half<D> half;
      put(0, hn::PromoteTo(Four(), hn::LowerHalf(half, fields)));
      put(4, hn::PromoteTo(Four(), hn::UpperHalf(half, fields)));
    }
    asm volatile("" : "+m"(values_));  // or the compiler sees what the loads will find
  }
  HWY_INLINE float operator[](std::uint32_t block) const { return values_[block]; }

 private:
  HWY_INLINE void put(std::uint32_t first, hn::VFromD<Four> fields) {
    hn::Store(hn::ShiftLeft<F32::kFractionBits>(fields), Four(),
              reinterpret_cast<std::uint32_t*>(values_ + first));
  }

  alignas(16) float values_[hn::MaxLanes(D())];
};

// Asks for the cache lines that kBytes of output will be in. A store asks only when it retires, after
// all that was computed for it, and then waits in order: of lines in the second cache that is a
// third of the time of encoding f32.
template <std::uint32_t kBytes>
HWY_INLINE void expect_stores(void* at) {
  for (std::uint32_t line = 0; line < kBytes; line += 64) {
    __builtin_prefetch(static_cast<std::byte*>(at) + line, 1);
  }
}

// One whole block of any kind, given its largest magnitude.
template <typename Format, typename Mantissa>
HWY_INLINE BlockCode encode_one(const typename Format::Bits* tensor, typename Format::Bits largest,
                                std::uint16_t floor, Mantissa* mantissas) {
  using B = Block<Format, Mantissa>;
  const std::int32_t code = B::plain_code(largest);
  if (code != 0 && floor <= code) {
    B::encode_plain(tensor, power_of_two<typename B::W>(-B::kLayout.unit_exponent(code)),
                    mantissas);
    return {static_cast<std::uint16_t>(code), false};
  }
  if (largest == 0) {
    std::memset(mantissas, 0, B::kElements * sizeof(Mantissa));
    return {};
  }
  return encode_block<Format, Mantissa>(reinterpret_cast<const std::byte*>(tensor), B::kElements,
                                        floor, reinterpret_cast<std::byte*>(mantissas));
}

// A group of whole blocks of any kind; returns whether there are specials.
template <typename Format, typename Mantissa>
HWY_NOINLINE bool encode_any_group(const typename Format::Bits* tensor, const std::uint16_t* floors,
                                   std::byte* exponents, Mantissa* mantissas) {
  using B = Block<Format, Mantissa>;
  alignas(16) typename Format::Bits largest[kGroup<Format>];
  hn::Store(largest_of_group<B::kElements, Format>(tensor), Group<Format>(), largest);
  bool specials = false;
  for (std::uint32_t block = 0; block < kGroup<Format>; ++block) {
    const BlockCode result = encode_one<Format>(
        tensor + block * B::kElements, largest[block],
        floors == nullptr ? std::uint16_t{0} : floors[block], mantissas + block * B::kElements);
    write_code<false>(exponents, block, result.code);
    specials |= result.specials;
  }
  return specials;
}

// A group of whole blocks at a time, if all are plain.
template <typename Format, typename Mantissa>
class PlainEncoder {
 public:
  // All in terms of the exponent field of the largest magnitude, after the carry. The field of
  // 2^-unit is the bias less the unit, and that is the block's field plus a constant.
  HWY_INLINE PlainEncoder()
      : carry_(constant(B::kCarry)),
        first_field_(constant(B::kEncodeFirst - B::kCodeOfField)),
        range_(constant(B::kEncodeLast - B::kEncodeFirst)),
        code_of_field_(constant(B::kCodeOfField)),
        unit_field_(constant(F32::kBias - B::kLayout.unit_exponent(B::kCodeOfField))) {}

  // False if some block is not plain; nothing is written then.
  HWY_INLINE bool encode(const typename Format::Bits* tensor, std::byte* exponents,
                         Mantissa* mantissas) const {
    const D d;
    expect_stores<kGroup<Format> * B::kElements * sizeof(Mantissa)>(mantissas);
    const auto largest = largest_of_group<B::kElements, Format>(tensor);
    const auto field = hn::ShiftRight<Format::kFractionBits>(hn::Add(largest, carry_));
    const auto above_first = hn::Sub(field, first_field_);
    if (!hn::AllTrue(d, hn::Eq(hn::Min(above_first, range_), above_first))) return false;

    const Scales<D> inverse_units(hn::Sub(unit_field_, field));
    const hn::Rebind<std::uint8_t, D> bytes;
    hn::StoreU(hn::TruncateTo(bytes, hn::Add(field, code_of_field_)), bytes,
               reinterpret_cast<std::uint8_t*>(exponents));
    for (std::uint32_t block = 0; block < kGroup<Format>; ++block) {
      B::encode_plain(tensor + block * B::kElements, inverse_units[block],
                      mantissas + block * B::kElements);
    }
    return true;
  }

 private:
  using B = Block<Format, Mantissa>;
  using D = Group<Format>;
  using V = hn::VFromD<D>;
  static HWY_INLINE V constant(std::int64_t value) {
    return kept_constant(D(), static_cast<typename Format::Bits>(value));
  }

  V carry_;
  V first_field_;
  V range_;
  V code_of_field_;
  V unit_field_;
};

// Whole blocks in groups, at least one, of which the last overlaps blocks that are done: writing
// those again changes nothing. Returns whether there are specials.
template <typename Format, typename Mantissa>
HWY_INLINE bool encode_groups(const typename Format::Bits* tensor, std::uint32_t whole,
                              const std::uint16_t* floors, std::byte* exponents,
                              Mantissa* mantissas) {
  constexpr std::uint32_t kElements = Block<Format, Mantissa>::kElements;
  constexpr std::uint32_t kStep = kGroup<Format>;
  const PlainEncoder<Format, Mantissa> plain;
  bool specials = false;
  for (std::uint32_t block = 0; block < whole; block += kStep) {
    block = std::min(block, whole - kStep);
    // The inner loop calls nothing, so that constants can stay in registers.
    while (floors == nullptr && plain.encode(tensor + block * kElements, exponents + block,
                                             mantissas + block * kElements)) {
      block += kStep;
      if (block >= whole) return specials;
      block = std::min(block, whole - kStep);
    }
    specials |= encode_any_group<Format>(tensor + block * kElements,
                                         floors == nullptr ? nullptr : floors + block,
                                         exponents + block, mantissas + block * kElements);
  }
  return specials;
}

template <typename Format, typename Mantissa>
bool encode(const std::byte* tensor, core::ChunkRange range, const std::uint16_t* codes,
            std::byte* exponents, std::byte* elements) {
  using B = Block<Format, Mantissa>;
  const auto* source = reinterpret_cast<const typename Format::Bits*>(tensor) + range.first;
  auto* target = reinterpret_cast<Mantissa*>(elements);
  const auto floor_of = [codes](std::uint32_t block) {
    return codes == nullptr ? std::uint16_t{0} : codes[block];
  };
  bool specials = false;
  const auto put = [&](std::uint32_t block, BlockCode result) {
    write_code<B::kLayout.wide_exponents()>(exponents, block, result.code);
    specials |= result.specials;
  };

  const std::uint32_t whole = range.elements / B::kElements;
  std::uint32_t block = 0;
  if constexpr (Format::kWidth < 64) {
    if (whole >= kGroup<Format>) {
      specials = encode_groups<Format>(source, whole, codes, exponents, target);
      block = whole;
    }
  }
  for (; block < whole; ++block) {
    const auto* first = source + block * B::kElements;
    put(block, encode_one<Format>(first, largest_bits<B::kElements, Format>(first), floor_of(block),
                                  target + block * B::kElements));
  }
  if (const std::uint32_t done = whole * B::kElements; done < range.elements) {
    put(whole, encode_block<Format, Mantissa>(reinterpret_cast<const std::byte*>(source + done),
                                              range.elements - done, floor_of(whole),
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

// Four whole blocks without specials at a time, if all are plain. (Eight, for which encoding has
// maxima to share, are slower here.)
template <typename Format, typename Mantissa>
class PlainDecoder {
 public:
  // Units are divided by 2^halvings. A unit's exponent field is its code plus a constant.
  explicit HWY_INLINE PlainDecoder(std::int32_t halvings)
      : first_(constant(B::kDecodeFirst)),
        range_(constant(B::kDecodeLast - B::kDecodeFirst)),
        unit_field_(constant(F32::kBias + B::kLayout.unit_exponent(0) - halvings)) {}

  // False if some block is not plain; nothing is written then.
  HWY_INLINE bool decode(const std::byte* exponents, const Mantissa* mantissas,
                         typename Format::Bits* tensor) const {
    const D d;
    expect_stores<4 * B::kElements * sizeof(typename Format::Bits)>(tensor);
    const hn::Rebind<std::uint8_t, D> bytes;
    const auto code =
        hn::PromoteTo(d, hn::LoadU(bytes, reinterpret_cast<const std::uint8_t*>(exponents)));
    const auto above_first = hn::Sub(code, first_);
    if (!hn::AllTrue(d, hn::Eq(hn::Min(above_first, range_), above_first))) return false;
    const Scales<D> units(hn::Add(code, unit_field_));
    for (std::uint32_t block = 0; block < 4; ++block) {
      const std::uint32_t first = block * B::kElements;
      B::decode_plain(mantissas + first, units[block], tensor + first);
    }
    return true;
  }

 private:
  using B = Block<Format, Mantissa>;
  using D = Four;
  using V = hn::VFromD<D>;
  static HWY_INLINE V constant(std::int32_t value) {
    return kept_constant(D(), static_cast<std::uint32_t>(value));
  }

  V first_;
  V range_;
  V unit_field_;
};

template <typename Format, typename Mantissa, bool kPowerOfTwo>
HWY_INLINE void decode_one(const Mantissa* mantissas, BlockScale scale,
                           typename Format::Bits* tensor) {
  using B = Block<Format, Mantissa>;
  const auto code = static_cast<std::int32_t>(scale.code);
  const std::int32_t unit = B::kLayout.unit_exponent(code);
  if (code < B::kDecodeFirst || code > B::kDecodeLast ||
      (scale.specials && B::has_special_codes(mantissas))) {
    decode_rest<Format>(mantissas, B::kElements, scale, tensor);
  } else if constexpr (kPowerOfTwo) {
    const std::int32_t halvings = std::countr_zero(scale.divisor);
    B::decode_plain(mantissas, power_of_two<typename B::W>(unit - halvings), tensor);
  } else {
    B::decode_quotient(mantissas, 1.0 / scale.divisor * power_of_two<F64>(unit), tensor);
  }
}

template <typename Format, typename Mantissa, bool kPowerOfTwo>
HWY_INLINE void decode_chunk(const core::TensorCodec::Received& received, std::uint32_t elements,
                             std::uint32_t divisor, typename Format::Bits* tensor) {
  using B = Block<Format, Mantissa>;
  const auto* mantissas = reinterpret_cast<const Mantissa*>(received.elements);
  const std::byte* exponents = received.exponents;
  const auto scale_of = [&](std::uint32_t block) {
    return BlockScale{read_code<B::kLayout.wide_exponents()>(exponents, block), divisor,
                      received.specials};
  };
  const auto decode_some = [&](std::uint32_t first, std::uint32_t end) HWY_ATTR {
    for (std::uint32_t block = first; block < end; ++block) {
      decode_one<Format, Mantissa, kPowerOfTwo>(mantissas + block * B::kElements, scale_of(block),
                                                tensor + block * B::kElements);
    }
  };

  const std::uint32_t whole = elements / B::kElements;
  if (Format::kWidth == 64 || !kPowerOfTwo || whole < 4 || received.specials) {
    decode_some(0, whole);
  } else if constexpr (Format::kWidth < 64) {  // as in encode_groups
    const PlainDecoder<Format, Mantissa> plain(std::countr_zero(divisor));
    for (std::uint32_t block = 0; block < whole; block += 4) {
      block = std::min(block, whole - 4);
      while (plain.decode(exponents + block, mantissas + block * B::kElements,
                          tensor + block * B::kElements)) {
        block += 4;
        if (block >= whole) break;
        block = std::min(block, whole - 4);
      }
      if (block < whole) decode_some(block, block + 4);
    }
  }
  if (const std::uint32_t done = whole * B::kElements; done < elements) {
    decode_rest<Format>(mantissas + done, elements - done, scale_of(whole), tensor + done);
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
