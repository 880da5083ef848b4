// SPDX-License-Identifier: Apache-2.0
//
// Chunks of block floats in vectors. Batches in which all blocks are plain go to
// vector_plain-inl.h. Other blocks go to the scalar loops, and so do blocks with a floor above
// their own code, and a partial block at the tensor's end. Like all compiled code, this assumes the
// default rounding mode.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "numeric/vector/vector_block_codec.cc"
#include <algorithm>
#include <bit>
#include <cstring>

#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "numeric/block_float.h"
#include "numeric/exponents.h"
#include "numeric/scalar/scalar_codecs.h"
#include "numeric/vector/vector_block-inl.h"
#include "numeric/vector/vector_half-inl.h"
#include "numeric/vector/vector_maxima-inl.h"
#include "numeric/vector/vector_plain-inl.h"
#include "numeric/vector/vector_sets.h"

HWY_BEFORE_NAMESPACE();
namespace infold::numeric {
namespace HWY_NAMESPACE {
namespace {

#if !INFOLD_VECTOR_BLOCKS

BlockCodecLookup make_block_lookup() { return scalar_block_codec; }

#else

// Encodes one whole block of any kind, given its largest magnitude.
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

// Encodes a group of whole blocks of any kind. Returns true if one has specials.
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

// Encodes one or more whole blocks in groups. The last group may overlap blocks that are already
// done, and write them again unchanged. Returns true if a block has specials.
template <typename Format, typename Mantissa, typename Elements>
HWY_INLINE bool encode_groups(const typename Format::Bits* tensor, std::uint32_t whole,
                              const std::uint16_t* floors, std::byte* exponents,
                              Mantissa* mantissas) {
  constexpr std::uint32_t kElements = Block<Format, Mantissa>::kElements;
  constexpr std::uint32_t kStep = kGroup<Format>;
  const PlainEncoder<Format, Mantissa, Elements> plain;
  bool specials = false;
  for (std::uint32_t block = 0; block < whole;) {
    block = std::min(block, whole - kStep);
    const std::uint32_t blocks = std::min(whole - block, kBatch);
    if (floors == nullptr) {
      const std::uint32_t done = plain.encode(tensor + block * kElements, blocks, exponents + block,
                                              mantissas + block * kElements);
      block += done;
      if (done == blocks) continue;
      block = std::min(block, whole - kStep);
    }
    specials |= encode_any_group<Format>(tensor + block * kElements,
                                         floors == nullptr ? nullptr : floors + block,
                                         exponents + block, mantissas + block * kElements);
    block += kStep;
  }
  return specials;
}

template <typename Format, typename Mantissa, typename Elements>
bool encode(const void*, const std::byte* tensor, core::ChunkRange range,
            const std::uint16_t* codes, std::byte* exponents, std::byte* elements) {
  using B = Block<Format, Mantissa>;
  const auto* source = reinterpret_cast<const typename Format::Bits*>(tensor) + range.first;
  auto* target = reinterpret_cast<Mantissa*>(elements);
  const auto floor_of = [codes](std::uint32_t block) {
    return codes == nullptr ? std::uint16_t{0} : codes[block];
  };
  clear_padding(exponents, B::kLayout, range.elements);
  bool specials = false;
  const auto put = [&](std::uint32_t block, BlockCode result) {
    write_code<B::kLayout.wide_exponents()>(exponents, block, result.code);
    specials |= result.specials;
  };

  const std::uint32_t whole = range.elements / B::kElements;
  std::uint32_t block = 0;
  if constexpr (Format::kWidth < 64) {
    if (whole >= kGroup<Format>) {
      specials = encode_groups<Format, Mantissa, Elements>(source, whole, codes, exponents, target);
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
  return specials;
}

// Decodes a block that is not plain.
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
    const auto scale = power_of_two<typename B::W>(unit - halvings);
    B::decode_plain(mantissas, scale, scale * kBothUnits, tensor);
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
  using Plain = PlainDecoder<Format, Mantissa>;
  if (Format::kWidth == 64 || !kPowerOfTwo || whole < Plain::kStep || received.specials) {
    decode_some(0, whole);
  } else if constexpr (Format::kWidth < 64) {  // encode_groups() has the same branch.
    const Plain plain(std::countr_zero(divisor));
    for (std::uint32_t block = 0; block < whole;) {
      block = std::min(block, whole - Plain::kStep);
      const std::uint32_t blocks = std::min(whole - block, kBatch);
      const std::uint32_t done = plain.decode(exponents + block, mantissas + block * B::kElements,
                                              blocks, tensor + block * B::kElements);
      block += done;
      if (done == blocks) continue;
      block = std::min(block, whole - Plain::kStep);
      decode_some(block, block + Plain::kStep);
      block += Plain::kStep;
    }
  }
  if (const std::uint32_t done = whole * B::kElements; done < elements) {
    decode_rest<Format>(mantissas + done, elements - done, scale_of(whole), tensor + done);
  }
}

template <typename Format, typename Mantissa, core::Reduction kReduction>
void decode(void*, std::byte* tensor, core::ChunkRange range,
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

template <typename Format, typename Mantissa, core::Reduction kReduction,
          typename Elements = WideElements<Format, Mantissa>>
constexpr core::TensorCodec kCodec = {.element_bytes = sizeof(typename Format::Bits),
                                      .encode = encode<Format, Mantissa, Elements>,
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

#if !INFOLD_VECTOR_HALVES

BlockCodecLookup make_half_lookup() { return nullptr; }

#else

template <core::Reduction kReduction>
const core::TensorCodec* half_by_format(core::WireFormat format) {
  switch (format) {
    case core::WireFormat::bfp8:
      return &kCodec<F16, std::int8_t, kReduction, HalfElements<std::int8_t>>;
    case core::WireFormat::bfp16:
      return &kCodec<F16, std::int16_t, kReduction, HalfElements<std::int16_t>>;
    default: return by_format<F16, kReduction>(format);
  }
}

const core::TensorCodec* half_lookup(core::DataType dtype, core::WireFormat format,
                                     core::Reduction reduction) {
  if (dtype != core::DataType::f16) return block_lookup(dtype, format, reduction);
  switch (reduction) {
    case core::Reduction::sum: return half_by_format<core::Reduction::sum>(format);
    case core::Reduction::average: return half_by_format<core::Reduction::average>(format);
    default: return nullptr;
  }
}

BlockCodecLookup make_half_lookup() { return has_halves() ? half_lookup : nullptr; }

#endif  // INFOLD_VECTOR_HALVES

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace infold::numeric
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace infold::numeric {
HWY_EXPORT(make_block_lookup);
HWY_EXPORT(make_half_lookup);
BlockCodecLookup chosen_block_lookup() { return HWY_DYNAMIC_DISPATCH(make_block_lookup)(); }
BlockCodecLookup chosen_half_lookup() { return HWY_DYNAMIC_DISPATCH(make_half_lookup)(); }
}  // namespace infold::numeric
#endif
