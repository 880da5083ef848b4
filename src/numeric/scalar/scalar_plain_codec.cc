// SPDX-License-Identifier: Apache-2.0
//
// The scalar codecs of elements that travel unchanged, or as integers of their width.
#include <algorithm>
#include <cstring>

#include "base/stream_copy.h"
#include "numeric/order_key.h"
#include "numeric/scalar/scalar_codecs.h"

namespace infold::numeric {
namespace {

using core::DataType;
using core::Reduction;
using core::TensorCodec;

// For a sum of integers, or a copy of any type. The bytes do not change.
template <std::size_t kBytes>
struct Copy {
  static bool encode(const void*, const std::byte* tensor, core::ChunkRange range,
                     const std::uint16_t*, std::byte*, std::byte* elements) {
    std::memcpy(elements, tensor + range.first * kBytes, range.elements * kBytes);
    return false;
  }
  static void decode(void*, std::byte* tensor, core::ChunkRange range,
                     const TensorCodec::Received& received) {
    std::byte* const to = tensor + range.first * kBytes;
    if (received.is_long) {
      base::stream_copy(to, received.elements, range.elements * kBytes);
    } else {
      std::memcpy(to, received.elements, range.elements * kBytes);
    }
  }
};

// Divides as C does, truncating towards zero. With divisor 0, which means no ranks, the average is
// the sum.
template <typename Int>
struct Average : Copy<sizeof(Int)> {
  static void decode(void*, std::byte* tensor, core::ChunkRange range,
                     const TensorCodec::Received& received) {
    const std::int64_t divisor = std::max(received.divisor, 1U);
    std::byte* target = tensor + range.first * sizeof(Int);
    for (std::uint32_t i = 0; i < range.elements; ++i) {
      const std::int64_t sum = load<Int>(received.elements, i);
      store<Int>(target, i, static_cast<Int>(sum / divisor));
    }
  }
};

// Aggregators compare signed integers, so half the range is subtracted from unsigned integers.
struct Shifted {
  static void flip(std::byte* to, const std::byte* from, std::uint32_t count) {
    for (std::uint32_t i = 0; i < count; ++i) to[i] = from[i] ^ std::byte{0x80};
  }
  static bool encode(const void*, const std::byte* tensor, core::ChunkRange range,
                     const std::uint16_t*, std::byte*, std::byte* elements) {
    flip(elements, tensor + range.first, range.elements);
    return false;
  }
  static void decode(void*, std::byte* tensor, core::ChunkRange range,
                     const TensorCodec::Received& received) {
    flip(tensor + range.first, received.elements, range.elements);
  }
};

template <typename Format, Reduction kReduction>
struct Ordered {
  using Bits = typename Format::Bits;
  using Key = std::make_signed_t<Bits>;

  static bool encode(const void*, const std::byte* tensor, core::ChunkRange range,
                     const std::uint16_t*, std::byte*, std::byte* elements) {
    const std::byte* source = tensor + range.first * sizeof(Bits);
    for (std::uint32_t i = 0; i < range.elements; ++i) {
      store<Key>(elements, i, order_key<Format, kReduction>(load<Bits>(source, i)));
    }
    return false;
  }
  static void decode(void*, std::byte* tensor, core::ChunkRange range,
                     const TensorCodec::Received& received) {
    std::byte* target = tensor + range.first * sizeof(Bits);
    for (std::uint32_t i = 0; i < range.elements; ++i) {
      store<Bits>(target, i, from_order_key<Format>(load<Key>(received.elements, i)));
    }
  }
};

template <typename Kind, std::uint32_t kBytes>
constexpr TensorCodec kCodec = {.element_bytes = kBytes,
                                .encode = Kind::encode,
                                .decode = Kind::decode,
                                .streams = Kind::decode == Copy<kBytes>::decode,
                                .copies = Kind::encode == Copy<kBytes>::encode};

const TensorCodec* copy_codec(DataType dtype) {
  switch (element_bytes(dtype)) {
    case 1: return &kCodec<Copy<1>, 1>;
    case 2: return &kCodec<Copy<2>, 2>;
    case 4: return &kCodec<Copy<4>, 4>;
    default: return &kCodec<Copy<8>, 8>;
  }
}

const TensorCodec* average_codec(DataType dtype) {
  switch (dtype) {
    case DataType::i8: return &kCodec<Average<std::int8_t>, 1>;
    case DataType::u8: return &kCodec<Average<std::uint8_t>, 1>;
    case DataType::i32: return &kCodec<Average<std::int32_t>, 4>;
    case DataType::i64: return &kCodec<Average<std::int64_t>, 8>;
    default: return nullptr;
  }
}

template <Reduction kReduction>
const TensorCodec* ordered_codec(DataType dtype) {
  switch (dtype) {
    case DataType::f32: return &kCodec<Ordered<F32, kReduction>, 4>;
    case DataType::f16: return &kCodec<Ordered<F16, kReduction>, 2>;
    case DataType::bf16: return &kCodec<Ordered<Bf16, kReduction>, 2>;
    case DataType::f64: return &kCodec<Ordered<F64, kReduction>, 8>;
    case DataType::u8: return &kCodec<Shifted, 1>;
    default: return copy_codec(dtype);
  }
}

}  // namespace

const TensorCodec* scalar_plain_codec(DataType dtype, core::WireFormat format, Reduction reduction,
                                      core::Collective collective) {
  const bool copies = collective == core::Collective::broadcast;
  if (collective == core::Collective::barrier) return nullptr;
  if (format == core::WireFormat::native) {
    const bool sums = reduction == Reduction::sum || reduction == Reduction::average;
    return core::is_float(dtype) && sums && !copies ? copy_codec(dtype) : nullptr;
  }
  if (format != core::integer_format(dtype)) return nullptr;
  if (copies) return copy_codec(dtype);
  switch (reduction) {
    case Reduction::sum: return core::is_float(dtype) ? nullptr : copy_codec(dtype);
    case Reduction::average: return average_codec(dtype);
    case Reduction::min: return ordered_codec<Reduction::min>(dtype);
    case Reduction::max: return ordered_codec<Reduction::max>(dtype);
    case Reduction::bit_or: return core::is_float(dtype) ? nullptr : copy_codec(dtype);
  }
  return nullptr;
}

}  // namespace infold::numeric
