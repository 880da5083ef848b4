// SPDX-License-Identifier: Apache-2.0
#include "encoding/encoded_tensor.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <utility>

#include "base/check.h"
#include "encoding/wire_formats.h"
#include "numeric/codec.h"
#include "numeric/exponents.h"

namespace infold::encoding {
namespace {

using core::ChunkRange;
using core::ElementLayout;

std::uint32_t code_at(ElementLayout layout, const std::byte* exponents, std::uint64_t block) {
  const std::byte* const at = exponents + block * layout.exponent_code_bytes();
  return layout.wide_exponents() ? numeric::read_code<true>(at, 0)
                                 : numeric::read_code<false>(at, 0);
}

void write_code(ElementLayout layout, std::byte* exponents, std::uint32_t block,
                std::uint32_t code) {
  if (layout.wide_exponents()) return numeric::write_code<true>(exponents, block, code);
  numeric::write_code<false>(exponents, block, code);
}

template <typename Mantissa>
bool is_special(Mantissa mantissa) {
  constexpr Mantissa kLimit = std::numeric_limits<Mantissa>::max() - 1;
  return mantissa > kLimit || mantissa < -kLimit;
}

template <typename Mantissa>
bool has_specials(const std::byte* mantissas, std::uint32_t count) {
  bool found = false;
  for (std::uint32_t i = 0; i < count; ++i) {
    Mantissa mantissa = 0;
    std::memcpy(&mantissa, mantissas + i * sizeof(Mantissa), sizeof(Mantissa));
    found |= is_special(mantissa);
  }
  return found;
}

// Converts a mantissa to a unit 2^shift times as large. Rounds to nearest, ties to even. Special
// values stay as they are.
template <typename Mantissa>
Mantissa coarser(Mantissa mantissa, std::uint32_t shift) {
  if (is_special(mantissa)) return mantissa;
  if (shift > 8 * sizeof(Mantissa)) return 0;
  const std::int64_t wide = mantissa;
  const std::int64_t below = wide & ((std::int64_t{1} << shift) - 1);
  const std::int64_t half = std::int64_t{1} << (shift - 1);
  const std::int64_t floor = wide >> shift;
  const bool goes_up = below > half || (below == half && (floor & 1) != 0);
  return static_cast<Mantissa>(floor + (goes_up ? 1 : 0));
}

// Rewrites the mantissas of one block for a code that is not below `floor`, and returns that code.
template <typename Mantissa>
std::uint32_t coarsen(std::byte* mantissas, std::uint32_t count, std::uint32_t code,
                      std::uint32_t floor) {
  Mantissa any = 0;
  for (std::uint32_t i = 0; i < count; ++i) {
    Mantissa mantissa = 0;
    std::byte* const at = mantissas + i * sizeof(Mantissa);
    std::memcpy(&mantissa, at, sizeof(Mantissa));
    if (code == 0 && !is_special(mantissa)) mantissa = 0;
    if (code > 0 && floor > code) mantissa = coarser(mantissa, floor - code);
    std::memcpy(at, &mantissa, sizeof(Mantissa));
    any = static_cast<Mantissa>(any | (is_special(mantissa) ? 0 : mantissa));
  }
  return any == 0 ? 0 : std::max(code, floor);
}

// Calls use() with a value of the mantissa's type.
template <typename Use>
auto with_mantissa(ElementLayout layout, Use&& use) {
  switch (layout.element_bytes()) {
    case 1: return use(std::int8_t{});
    case 2: return use(std::int16_t{});
    default: return use(std::int32_t{});
  }
}

std::string problem_of_pair(const EncodedView& encoded, const TensorView& tensor) {
  if (tensor.type != encoded.type || tensor.elements != encoded.elements) {
    return std::string("the tensor has ") + std::to_string(tensor.elements) + " " +
           data_type_name(tensor.type) + ", the encoded one " + std::to_string(encoded.elements) +
           " " + data_type_name(encoded.type) + "; pass the same of both";
  }
  if (tensor.elements > 0 && tensor.data == nullptr) return "the tensor has a null address";
  return "";
}

// Returns the codec that converts between both, or says what is wrong with one of them.
Result<const core::TensorCodec*> codec_between(const EncodedView& encoded,
                                               const TensorView& tensor) {
  std::string problem = problem_of(encoded);
  if (problem.empty()) problem = problem_of_pair(encoded, tensor);
  if (!problem.empty()) {
    return tl::unexpected(Error{Code::invalid_argument, std::move(problem), -1, ""});
  }
  const ElementLayout layout = layout_of(encoded).value();
  return numeric::codec(layout.dtype, layout.format, Reduction::sum, core::Collective::all_reduce);
}

constexpr std::uint32_t kStretch = 2048;  // whole blocks, and no longer than a chunk may be

// Calls use(range, code_at, mantissa_at) for each stretch. The last two say where its codes and its
// mantissas begin, in bytes.
template <typename Use>
void for_each_stretch(ElementLayout layout, std::uint64_t elements, Use&& use) {
  for (std::uint64_t first = 0; first < elements; first += kStretch) {
    const auto count =
        static_cast<std::uint32_t>(std::min<std::uint64_t>(kStretch, elements - first));
    use(ChunkRange{first, count}, (first >> layout.block_shift()) * layout.exponent_code_bytes(),
        first * layout.element_bytes());
  }
}

}  // namespace

std::optional<ElementLayout> layout_of(const EncodedView& encoded) {
  const Encoding* const encoding = find_encoding(encoded.wire);
  if (encoding == nullptr || !encoding->types.has(encoded.type)) return std::nullopt;
  const ElementLayout layout = {encoding->format_of(encoded.type), encoded.type};
  if (!layout.is_block_float() || encoding->exchange != Exchange::none) return std::nullopt;
  return layout;
}

std::string problem_of(const EncodedView& encoded) {
  const std::optional<ElementLayout> layout = layout_of(encoded);
  if (!layout) {
    return std::string("an encoded tensor is ") + data_type_name(encoded.type) + " as " +
           wire_format_name(encoded.wire) + "; allowed: floats as bfp32, bfp16 or bfp8";
  }
  if (encoded.elements == 0) return "";
  if (encoded.exponents == nullptr || encoded.mantissas == nullptr) {
    return "an encoded tensor has " + std::to_string(encoded.elements) +
           " elements and a null address";
  }
  return "";
}

void EncodedTensor::begin(const EncodedView& input, const MutableEncodedView& output) {
  input_ = input;
  output_ = output;
  layout_ = layout_of(input).value();
}

const core::TensorCodec* EncodedTensor::codec() {
  static constexpr core::TensorCodec kCodec = {
      .element_bytes = 0, .encode = encode, .decode = decode};
  return &kCodec;
}

bool EncodedTensor::encode(const void* context, const std::byte*, ChunkRange range,
                           const std::uint16_t* codes, std::byte* exponents, std::byte* elements) {
  const auto& tensor = *static_cast<const EncodedTensor*>(context);
  const ElementLayout layout = tensor.layout_;
  const auto* const all_codes = static_cast<const std::byte*>(tensor.input_.exponents);
  const std::uint32_t width = layout.element_bytes();
  const std::uint64_t first_block = range.first >> layout.block_shift();
  std::memcpy(elements,
              static_cast<const std::byte*>(tensor.input_.mantissas) + range.first * width,
              std::size_t{range.elements} * width);
  const std::uint32_t blocks = layout.block_count(range.elements);
  for (std::uint32_t block = 0; block < blocks; ++block) {
    const std::uint32_t at = block << layout.block_shift();
    const std::uint32_t count = std::min(layout.block_elements(), range.elements - at);
    const auto code_max = static_cast<std::uint32_t>(layout.exponent_code_max());
    std::uint32_t code = std::min(code_at(layout, all_codes, first_block + block), code_max);
    const std::uint32_t floor = codes == nullptr ? 0 : codes[block];
    if (code == 0 || floor > code) {
      code = with_mantissa(layout, [&](auto mantissa) {
        return coarsen<decltype(mantissa)>(elements + std::size_t{at} * width, count, code, floor);
      });
    }
    write_code(layout, exponents, block, code);
  }
  numeric::write_padding(exponents, layout, range.elements);
  return with_mantissa(layout, [&](auto mantissa) {
    return has_specials<decltype(mantissa)>(elements, range.elements);
  });
}

void EncodedTensor::decode(void* context, std::byte*, ChunkRange range,
                           const core::TensorCodec::Received& received) {
  const auto& tensor = *static_cast<EncodedTensor*>(context);
  const ElementLayout layout = tensor.layout_;
  const std::uint32_t code_bytes = layout.exponent_code_bytes();
  std::memcpy(static_cast<std::byte*>(tensor.output_.exponents) +
                  (range.first >> layout.block_shift()) * code_bytes,
              received.exponents, std::size_t{layout.block_count(range.elements)} * code_bytes);
  std::memcpy(
      static_cast<std::byte*>(tensor.output_.mantissas) + range.first * layout.element_bytes(),
      received.elements, std::size_t{range.elements} * layout.element_bytes());
}

}  // namespace infold::encoding

namespace infold {

std::size_t exponent_bytes(WireFormat wire, DataType type, std::size_t elements) {
  const auto layout = encoding::layout_of({wire, type, elements, nullptr, nullptr});
  if (!layout) return 0;
  return ((elements + layout->block_elements() - 1) >> layout->block_shift()) *
         layout->exponent_code_bytes();
}

std::size_t mantissa_bytes(WireFormat wire, DataType type, std::size_t elements) {
  const auto layout = encoding::layout_of({wire, type, elements, nullptr, nullptr});
  return layout ? elements * layout->element_bytes() : 0;
}

Result<void> encode(TensorView tensor, const MutableEncodedView& encoded) {
  const Result<const core::TensorCodec*> codec = encoding::codec_between(encoded, tensor);
  if (!codec) return tl::unexpected(codec.error());
  const core::ElementLayout layout = encoding::layout_of(encoded).value();
  // A few more bytes, because a codec pads the codes.
  std::byte codes[encoding::kStretch / 32 + 4];
  encoding::for_each_stretch(
      layout, tensor.elements,
      [&](core::ChunkRange range, std::size_t code_at, std::size_t mantissa_at) {
        (*codec)->encode(nullptr, static_cast<const std::byte*>(tensor.data), range, nullptr, codes,
                         static_cast<std::byte*>(encoded.mantissas) + mantissa_at);
        std::memcpy(static_cast<std::byte*>(encoded.exponents) + code_at, codes,
                    std::size_t{layout.block_count(range.elements)} * layout.exponent_code_bytes());
      });
  return {};
}

Result<void> decode(const EncodedView& encoded, MutableTensorView tensor) {
  const Result<const core::TensorCodec*> codec = encoding::codec_between(encoded, tensor);
  if (!codec) return tl::unexpected(codec.error());
  const core::ElementLayout layout = encoding::layout_of(encoded).value();
  encoding::for_each_stretch(
      layout, tensor.elements,
      [&](core::ChunkRange range, std::size_t code_at, std::size_t mantissa_at) {
        core::TensorCodec::Received received;
        received.exponents = static_cast<const std::byte*>(encoded.exponents) + code_at;
        received.elements = static_cast<const std::byte*>(encoded.mantissas) + mantissa_at;
        received.specials = true;
        (*codec)->decode(nullptr, static_cast<std::byte*>(tensor.data), range, received);
      });
  return {};
}

}  // namespace infold
