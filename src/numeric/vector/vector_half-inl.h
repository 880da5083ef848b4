// SPDX-License-Identifier: Apache-2.0
//
// Converts f16 to mantissas in f16 arithmetic. This needs AVX512-FP16, for which Highway does not
// have a target. A block takes two instructions, compared with eight in f32. The code is compiled
// with the targets of AVX-512, and only if the compiler knows the instructions (see
// CMakeLists.txt). has_halves() says whether the processor has them.
#if defined(INFOLD_NUMERIC_VECTOR_HALF_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef INFOLD_NUMERIC_VECTOR_HALF_INL_H_
#undef INFOLD_NUMERIC_VECTOR_HALF_INL_H_
#else
#define INFOLD_NUMERIC_VECTOR_HALF_INL_H_
#endif

#include <cstddef>
#include <cstdint>

#include <hwy/highway.h>

#include "numeric/vector/vector_plain-inl.h"

#undef INFOLD_VECTOR_HALVES
#if INFOLD_AVX512_FP16 && HWY_ARCH_X86 && HWY_TARGET <= HWY_AVX3
#define INFOLD_VECTOR_HALVES 1
#else
#define INFOLD_VECTOR_HALVES 0
#endif

HWY_BEFORE_NAMESPACE();
namespace infold::numeric {
namespace HWY_NAMESPACE {
namespace {

#if INFOLD_VECTOR_HALVES

inline bool has_halves() { return __builtin_cpu_supports("avx512fp16") != 0; }

// Does in f16 what WideElements (vector_plain-inl.h) does in f32. Scaling by a power of two is
// exact or gives a subnormal. A subnormal is far below half a unit and becomes 0 in any case, so
// the conversion is the only rounding. No mantissa exceeds the largest f16, and the processor does
// not flush these subnormals.
template <typename Mantissa>
struct HalfElements {
  // The exponent of 2^-unit as f16.
  using Scale = std::uint16_t;
  static constexpr std::int32_t kScaleBias = 0;
  template <typename D>
  static HWY_INLINE void store_scales(D d, hn::VFromD<D> exponents, Scale* at) {
    const hn::Rebind<std::int32_t, D> wide;
    const hn::Rebind<hwy::float16_t, D> half;
    const hn::Rebind<std::uint16_t, D> bits;
    const auto integers = hn::PromoteTo(wide, hn::BitCast(hn::RebindToSigned<D>(), exponents));
    const auto halves =
        hn::DemoteTo(half, hn::ConvertTo(hn::RebindToFloat<decltype(wide)>(), integers));
    hn::StoreU(hn::BitCast(bits, halves), bits, at);
  }

  // This function is not inlined, because callers are compiled for processors without these
  // instructions.
  __attribute__((target(HWY_TARGET_STR ",avx512fp16"))) static HWY_NOINLINE void encode(
      const std::uint16_t* tensor, const Scale* scales, std::uint32_t blocks, Mantissa* mantissas) {
    constexpr std::size_t kElements = Block<F16, Mantissa>::kElements;
    static_assert(kElements * sizeof(*tensor) == sizeof(__m512h));
#pragma GCC unroll 4
    for (const Scale* const end = scales + blocks; scales != end; ++scales) {
      expect_stores<kElements>(mantissas);
      const auto scale = _mm512_set1_epi16(static_cast<std::int16_t>(*scales));
      const auto scaled = _mm512_scalef_ph(_mm512_loadu_ph(tensor), _mm512_castsi512_ph(scale));
      const auto rounded = _mm512_cvtph_epi16(scaled);
      if constexpr (sizeof(Mantissa) == 2) {
        _mm512_storeu_si512(mantissas, rounded);
      } else {
        _mm256_storeu_epi8(mantissas, _mm512_cvtepi16_epi8(rounded));
      }
      tensor += kElements;
      mantissas += kElements;
    }
  }
};

#endif  // INFOLD_VECTOR_HALVES

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace infold::numeric
HWY_AFTER_NAMESPACE();

#endif
