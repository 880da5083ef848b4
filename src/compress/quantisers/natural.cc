// SPDX-License-Identifier: Apache-2.0
//
// The method `natural` (Horvath 2019): each magnitude becomes the power of two below or above it,
// at random, so that its mean is the element. A code has a sign and 7 bits for the exponent.
//
// Exponents count from the power of two that is not below the largest magnitude of the bucket, so
// that tensors of any size fit. Magnitudes below the least power become that power or zero, at
// random. Magnitudes above 2^127 become 2^127, because f32 has no higher power; only there is the
// method biased.
//
// The head is the largest power of the bucket; a negative head is refused. Codes 0 and 128 are
// zero. Code c from 1 to 127 is the largest power x 2^(c - 127), and code 128 + c is minus that.
#include <algorithm>
#include <bit>
#include <cmath>

#include "compress/magnitudes.h"
#include "compress/methods/methods.h"
#include "compress/quantisers/codebook.h"

namespace infold::compress {
namespace {

constexpr std::uint32_t kAlphabet = 256;
constexpr std::int32_t kTop = 127;

// Returns zero for zero, and 2^127 for all larger numbers.
float power_not_below(float magnitude) {
  if (magnitude == 0) return 0;
  int exponent = 0;
  const bool is_power = std::frexp(magnitude, &exponent) == 0.5F;
  return std::ldexp(1.0F, std::min(is_power ? exponent - 1 : exponent, kTop));
}

class Natural final : public CodebookCompressor {
 public:
  using CodebookCompressor::CodebookCompressor;

 private:
  // Returns the code of a magnitude. `part` is the magnitude divided by the largest power, from 0
  // to 2.
  static std::int32_t round(double part, double chance) {
    constexpr std::uint64_t kFraction = (std::uint64_t{1} << 52) - 1;
    const auto bits = std::bit_cast<std::uint64_t>(part);
    const std::int32_t below = kTop + static_cast<std::int32_t>(bits >> 52) - 1023;
    const double fraction =
        static_cast<double>(static_cast<std::int64_t>(bits & kFraction)) * 0x1p-52;
    const std::int32_t code = below + (chance < fraction ? 1 : 0);
    const std::int32_t code_of_least = chance < part * 0x1p126 ? 1 : 0;
    return below < 1 ? code_of_least : std::min(code, kTop);
  }

  void encode_bucket(const Bucket& bucket, std::span<float> head,
                     std::span<std::uint8_t> codes) const override {
    head[0] = power_not_below(largest_magnitude(bucket.values));
    const double divisor = head[0] > 0 ? double{head[0]} : 1;
    for (std::size_t i = 0; i < codes.size(); ++i) {
      const float value = bucket.values[i];
      const double part = double{std::abs(value)} / divisor;
      const std::int32_t code = round(part, double{bucket.uniform(i)});
      codes[i] = static_cast<std::uint8_t>(code + (value < 0 ? 128 : 0));
    }
  }

  bool read_head(std::span<const float> head, std::span<double> codebook) const override {
    double power = double{head[0]};
    for (std::size_t code = kTop; code > 0; --code) {
      codebook[code] = power;
      codebook[128 + code] = -power;
      power /= 2;
    }
    codebook[0] = codebook[128] = 0;
    return head[0] >= 0;
  }
};

CodebookCompressor::Options options_of(const Shape& shape, const Settings& settings) {
  return {.elements = shape.elements,
          .bucket = static_cast<std::size_t>(settings["bucket"]),
          .alphabet = kAlphabet};
}

}  // namespace

Method natural_method() {
  return {.name = "natural",
          .summary = "the power of two below or above each element, at random",
          .bias = Bias::unbiased,
          .settings = {bucket_setting(512)},
          .formula_bits = [](const Shape& shape, const Settings& settings,
                             std::uint32_t) { return codebook_bits(options_of(shape, settings)); },
          // The maximum of (x - 1)(2 - x) / x^2, which is at x = 4/3.
          .variance = [](const Shape&, const Settings&) { return 1.0 / 8; },
          .make = [](const Shape& shape, const Settings& settings) -> std::unique_ptr<Compressor> {
            return std::make_unique<Natural>(options_of(shape, settings));
          }};
}

}  // namespace infold::compress
