// SPDX-License-Identifier: Apache-2.0
//
// Converts values to bits. f16 and bf16 values must be exact in their type, so that rounding here
// cannot hide a rounding error of the codec.
#include "tests/conformance/text/tensor_text.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <cstring>

namespace infold::conformance {
namespace {

// Returns the bits of a float type with this many exponent and fraction bits.
std::uint64_t float_bits(const Step& step, double value, int exponent_bits, int fraction_bits) {
  const std::uint64_t sign =
      std::signbit(value) ? std::uint64_t{1} << (exponent_bits + fraction_bits) : 0;
  const int bias = (1 << (exponent_bits - 1)) - 1;
  const std::uint64_t largest = (std::uint64_t{1} << exponent_bits) - 1;
  if (std::isnan(value)) return largest << fraction_bits | std::uint64_t{1} << (fraction_bits - 1);
  if (std::isinf(value)) return sign | largest << fraction_bits;
  if (value == 0) return sign;
  int exponent = 0;
  std::frexp(value, &exponent);
  --exponent;
  const int least = std::max(exponent, 1 - bias);
  const double scaled = std::ldexp(std::fabs(value), fraction_bits - least);
  const auto whole = static_cast<std::uint64_t>(scaled);
  if (static_cast<double>(whole) != scaled || exponent > bias) {
    throw VectorError(step.where + ": a value is not exact in its type");
  }
  const bool normal = exponent >= 1 - bias;
  const std::uint64_t fraction = whole & ((std::uint64_t{1} << fraction_bits) - 1);
  return sign | (normal ? static_cast<std::uint64_t>(exponent + bias) << fraction_bits : 0) |
         fraction;
}

}  // namespace

std::uint64_t value_bits(const Step& step, core::DataType dtype, const std::string& text) {
  if (text.starts_with("bits:"))
    return static_cast<std::uint64_t>(parse_number(step, text.substr(5)));
  if (dtype > core::DataType::f64) return static_cast<std::uint64_t>(parse_number(step, text));
  char* end = nullptr;
  const double value = std::strtod(text.c_str(), &end);
  if (*end != 0) throw VectorError(step.where + ": '" + text + "' is not a value");
  switch (dtype) {
    case core::DataType::f16: return float_bits(step, value, 5, 10);
    case core::DataType::bf16: return float_bits(step, value, 8, 7);
    case core::DataType::f32: return float_bits(step, value, 8, 23);
    default: return float_bits(step, value, 11, 52);
  }
}

std::vector<std::byte> tensor_bytes(const Step& step, core::DataType dtype,
                                    const std::vector<std::string>& values) {
  const std::size_t width = element_bytes(dtype);
  std::vector<std::byte> bytes(values.size() * width);
  for (std::size_t i = 0; i < values.size(); ++i) {
    const std::uint64_t bits = value_bits(step, dtype, values[i]);
    std::memcpy(bytes.data() + i * width, &bits, width);
  }
  return bytes;
}

std::string tensor_words(core::DataType dtype, const std::vector<std::byte>& tensor) {
  const std::size_t width = element_bytes(dtype);
  std::string text = "[";
  for (std::size_t i = 0; i * width < tensor.size(); ++i) {
    std::uint64_t bits = 0;
    std::memcpy(&bits, tensor.data() + i * width, width);
    char word[64];
    std::snprintf(word, sizeof word, "%sbits:0x%llx", i > 0 ? " " : "",
                  static_cast<unsigned long long>(bits));
    text += word;
    if (dtype == core::DataType::f32) {
      std::snprintf(word, sizeof word, "(%g)",
                    static_cast<double>(std::bit_cast<float>(static_cast<std::uint32_t>(bits))));
      text += word;
    }
  }
  return text + "]";
}

core::ElementLayout layout_of(const Signature& signature) {
  return {static_cast<core::WireFormat>(signature.format),
          static_cast<core::DataType>(signature.dtype)};
}

}  // namespace infold::conformance
