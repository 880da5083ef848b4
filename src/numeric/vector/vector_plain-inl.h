// SPDX-License-Identifier: Apache-2.0
//
// Batches of plain blocks (see vector_block-inl.h) in vectors, once per instruction set: first the
// exponents and scales of a batch, then its elements.
#if defined(INFOLD_NUMERIC_VECTOR_PLAIN_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef INFOLD_NUMERIC_VECTOR_PLAIN_INL_H_
#undef INFOLD_NUMERIC_VECTOR_PLAIN_INL_H_
#else
#define INFOLD_NUMERIC_VECTOR_PLAIN_INL_H_
#endif

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include <hwy/highway.h>

#include "numeric/vector/vector_block-inl.h"
#include "numeric/vector/vector_maxima-inl.h"

HWY_BEFORE_NAMESPACE();
namespace infold::numeric {
namespace HWY_NAMESPACE {
namespace {

#if INFOLD_VECTOR_BLOCKS

// The number of blocks whose scales are found before any element is converted. In this way neither
// loop waits for the other's latencies or takes its registers, and no element is converted twice
// where groups overlap. A chunk of MTU 1500 has at most 43 blocks, and the scales take 256 bytes.
constexpr std::uint32_t kBatch = 64;

// Stores powers of two, which are given as exponent fields.
template <typename D>
HWY_INLINE void store_powers_of_two(D d, hn::VFromD<D> fields, float* at) {
  if constexpr (sizeof(hn::TFromD<D>) == 4) {
    hn::StoreU(hn::ShiftLeft<F32::kFractionBits>(fields), d, reinterpret_cast<std::uint32_t*>(at));
  } else if constexpr (HWY_MAX_BYTES >= 32) {
    const hn::Rebind<std::uint32_t, D> wide;
    store_powers_of_two(wide, hn::PromoteTo(wide, fields), at);
  } else {
    const hn::Full128<std::uint32_t> four;
    const hn::Rebind<std::uint16_t, D> wider;
    const hn::Half<decltype(wider)> half;
    const auto wide = hn::PromoteTo(wider, fields);
    store_powers_of_two(four, hn::PromoteTo(four, hn::LowerHalf(half, wide)), at);
    store_powers_of_two(four, hn::PromoteTo(four, hn::UpperHalf(half, wide)), at + 4);
  }
}

// Prefetches the cache lines of the block that is stored eight blocks after `at`. Any address is
// allowed, because a prefetch never faults. A store requests its line only when it retires, and
// later stores wait for it. With output in the second cache, these waits took a third of the time
// of encoding f32. Prefetching a whole batch at once would fill the queue that loads need.
template <std::uint32_t kElements, typename T>
HWY_INLINE void expect_stores(T* at) {
  constexpr std::uint32_t kBlocksAhead = 8;
  auto* ahead = reinterpret_cast<std::byte*>(at) + kBlocksAhead * kElements * sizeof(T);
  for (std::uint32_t line = 0; line < kElements * sizeof(T); line += 64) {
    __builtin_prefetch(ahead + line, 1);
  }
}

// Converts elements to mantissas in f32 once their blocks' exponents are known. HalfElements
// (vector_half-inl.h) does the same in f16.
template <typename Format, typename Mantissa>
struct WideElements {
  using B = Block<Format, Mantissa>;
  // 2^-unit. Its exponent field is kScaleBias plus the exponent.
  using Scale = float;
  static constexpr std::int32_t kScaleBias = F32::kBias;
  template <typename D>
  static HWY_INLINE void store_scales(D d, hn::VFromD<D> fields, Scale* at) {
    store_powers_of_two(d, fields, at);
  }

  static HWY_INLINE void encode(const typename Format::Bits* tensor, const Scale* scales,
                                std::uint32_t blocks, Mantissa* mantissas) {
    std::uint32_t block = 0;
    if constexpr (B::kPairs && sizeof(Mantissa) == 1) {
#pragma GCC unroll 2
      for (; block + 2 <= blocks; block += 2) {
        Mantissa* target = mantissas + block * B::kElements;
        expect_stores<2 * B::kElements>(target);
        encode_two(tensor + block * B::kElements, scales + block, target);
      }
    }
#pragma GCC unroll 4  // 1 to 4 % faster
    for (; block < blocks; ++block) {
      Mantissa* target = mantissas + block * B::kElements;
      expect_stores<B::kElements>(target);
      B::encode_plain(tensor + block * B::kElements, scales[block], target);
    }
  }

 private:
  // Encodes two blocks of bf16 as bytes, because one block's 16-bit integers may fill only one
  // vector, and bytes are packed from two vectors.
  static HWY_INLINE void encode_two(const std::uint16_t* tensor, const Scale* scales,
                                    std::int8_t* mantissas) {
    const hn::CappedTag<std::uint16_t, B::kElements> d;
    constexpr std::uint32_t kLanes = hn::MaxLanes(d);
    const auto integers = [&](std::uint32_t i) HWY_ATTR {
      return encode_bf16_pairs(d, tensor + i, scales[i / B::kElements]);
    };
    for (std::uint32_t i = 0; i < 2 * B::kElements; i += 2 * kLanes) {
      store_bytes(d, integers(i), integers(i + kLanes), mantissas + i);
    }
  }
};

// Encodes whole blocks, a group at a time, until a group has a block that is not plain.
template <typename Format, typename Mantissa, typename Elements = WideElements<Format, Mantissa>>
class PlainEncoder {
 public:
  // All constants refer to the exponent field of the largest magnitude after the carry. The
  // exponent of 2^-unit is a constant minus that field.
  HWY_INLINE PlainEncoder()
      : first_field_(constant(B::kEncodeFirst - B::kCodeOfField)),
        range_(constant(B::kEncodeLast - B::kEncodeFirst)),
        code_of_field_(constant(B::kCodeOfField)),
        scale_of_zero_(constant(Elements::kScaleBias - B::kLayout.unit_exponent(B::kCodeOfField))) {
  }

  // Returns how many blocks were encoded, counted from the first: all of them, or some groups. The
  // last group may overlap the one before. Requires: at least a group and at most kBatch blocks.
  HWY_INLINE std::uint32_t encode(const typename Format::Bits* tensor, std::uint32_t blocks,
                                  std::byte* exponents, Mantissa* mantissas) const {
    typename Elements::Scale scales[kBatch];
    std::uint32_t done = 0;
    for (; done < blocks; done += kStep) {
      const std::uint32_t block = std::min(done, blocks - kStep);
      if (!encode_codes(tensor + block * B::kElements, exponents + block, scales + block)) {
        break;
      }
    }
    done = std::min(done, blocks);
    Elements::encode(tensor, scales, done, mantissas);
    return done;
  }

 private:
  // Returns false and writes nothing if some block of the group is not plain.
  HWY_INLINE bool encode_codes(const typename Format::Bits* tensor, std::byte* exponents,
                               typename Elements::Scale* scales) const {
    const D d;
    const auto field = largest_fields_(tensor);
    const auto above_first = hn::Sub(field, first_field_);
    if (!hn::AllTrue(d, hn::Eq(hn::Min(above_first, range_), above_first))) return false;
    Elements::store_scales(d, hn::Sub(scale_of_zero_, field), scales);
    auto* codes = reinterpret_cast<std::uint8_t*>(exponents);
    const hn::Rebind<std::uint8_t, D> bytes;
    if constexpr (sizeof(hn::TFromD<D>) == 1) {
      hn::StoreU(hn::Add(field, code_of_field_), bytes, codes);
    } else {
      hn::StoreU(hn::TruncateTo(bytes, hn::Add(field, code_of_field_)), bytes, codes);
    }
    return true;
  }

  static constexpr std::uint32_t kStep = kGroup<Format>;
  using B = Block<Format, Mantissa>;
  using D = Fields<Format>;
  using V = hn::VFromD<D>;
  static HWY_INLINE V constant(std::int64_t value) {
    return kept_constant(D(), static_cast<hn::TFromD<D>>(value));
  }

  LargestFields<B::kElements, Format, B::kCarry> largest_fields_;
  V first_field_;
  V range_;
  V code_of_field_;
  V scale_of_zero_;
};

// Decodes whole blocks without specials, a few at a time, until one of them is not plain.
template <typename Format, typename Mantissa>
class PlainDecoder {
 public:
  // Units are divided by 2^halvings. A unit's exponent field is its code plus a constant.
  explicit HWY_INLINE PlainDecoder(std::int32_t halvings)
      : first_(constant(B::kDecodeFirst)),
        range_(constant(B::kDecodeLast - B::kDecodeFirst)),
        unit_field_(constant(F32::kBias + B::kLayout.unit_exponent(0) - halvings)) {}

  static constexpr std::uint32_t kStep = HWY_MAX_BYTES >= 32 ? 8 : 4;

  // Returns how many blocks were decoded, as PlainEncoder::encode() does.
  HWY_INLINE std::uint32_t decode(const std::byte* exponents, const Mantissa* mantissas,
                                  std::uint32_t blocks, typename Format::Bits* tensor) const {
    Units units;
    std::uint32_t done = 0;
    for (; done < blocks; done += kStep) {
      const std::uint32_t block = std::min(done, blocks - kStep);
      if (!decode_codes(exponents + block, block, units)) break;
    }
    done = std::min(done, blocks);
#pragma GCC unroll 4  // 1 to 4 % faster
    for (std::uint32_t block = 0; block < done; ++block) {
      const std::uint32_t first = block * B::kElements;
      expect_stores<B::kElements>(tensor + first);
      const float both = B::kDecodePairs ? units.both[block] : 0;
      B::decode_plain(mantissas + first, units.unit[block], both, tensor + first);
    }
    return done;
  }

 private:
  using B = Block<Format, Mantissa>;
  using D = hn::CappedTag<std::uint32_t, kStep>;
  using V = hn::VFromD<D>;
  static HWY_INLINE V constant(std::int32_t value) {
    return kept_constant(D(), static_cast<std::uint32_t>(value));
  }

  struct Units {
    float unit[kBatch];
    float both[B::kDecodePairs ? kBatch : 1];  // `unit` times kBothUnits
  };

  // Returns false and writes nothing if some block is not plain.
  HWY_INLINE bool decode_codes(const std::byte* exponents, std::uint32_t block,
                               Units& units) const {
    const D d;
    const hn::Rebind<std::uint8_t, D> bytes;
    const auto code =
        hn::PromoteTo(d, hn::LoadU(bytes, reinterpret_cast<const std::uint8_t*>(exponents)));
    const auto above_first = hn::Sub(code, first_);
    if (!hn::AllTrue(d, hn::Eq(hn::Min(above_first, range_), above_first))) return false;
    const hn::RebindToFloat<D> df;
    const auto unit = hn::ShiftLeft<F32::kFractionBits>(hn::Add(code, unit_field_));
    hn::StoreU(hn::BitCast(df, unit), df, units.unit + block);
    if constexpr (B::kDecodePairs) {
      const auto both = hn::Mul(hn::BitCast(df, unit), hn::Set(df, kBothUnits));
      hn::StoreU(both, df, units.both + block);
    }
    return true;
  }

  V first_;
  V range_;
  V unit_field_;
};

#endif  // INFOLD_VECTOR_BLOCKS

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace infold::numeric
HWY_AFTER_NAMESPACE();

#endif
