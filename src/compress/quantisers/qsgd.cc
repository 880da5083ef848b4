// SPDX-License-Identifier: Apache-2.0
//
// The method `qsgd` (Alistarh 2017): each element becomes a whole number of levels, where s levels
// make the L2 norm of its bucket. It is rounded up or down at random, so that its mean is the
// element, except for 2^-24 of a level.
//
// The head is the norm, and a code is the level + s. A norm above the largest f32 is sent as the
// largest f32; no magnitude is above that, so codes stay below 2s + 1. A negative norm is refused.
#include <algorithm>
#include <cmath>
#include <limits>

#include "compress/methods/methods.h"
#include "compress/quantisers/codebook.h"

namespace infold::compress {
namespace {

std::uint32_t levels_of(const Settings& settings) {
  const auto levels = static_cast<std::uint32_t>(settings["levels"]);
  if (levels > 0) return levels;
  return (std::uint32_t{1} << (static_cast<std::uint32_t>(settings["bits"]) - 1)) - 1;
}

class Qsgd final : public CodebookCompressor {
 public:
  using CodebookCompressor::CodebookCompressor;

 private:
  std::uint32_t levels() const { return (alphabet() - 1) / 2; }

  static float norm_of(std::span<const float> values) {
    double squares = 0;
    for (const float value : values) squares += double{value} * double{value};
    const double most = std::numeric_limits<float>::max();
    return static_cast<float>(std::min(std::sqrt(squares), most));
  }

  void encode_bucket(const Bucket& bucket, std::span<float> head,
                     std::span<std::uint8_t> codes) const override {
    const float norm = norm_of(bucket.values);
    head[0] = norm;
    const float divisor = norm > 0 ? norm : 1;
    const auto levels = static_cast<float>(this->levels());
    for (std::size_t i = 0; i < codes.size(); ++i) {
      const float exact = std::abs(bucket.values[i]) / divisor * levels;
      const float below = std::floor(exact);
      const float level = below + (bucket.uniform(i) < exact - below ? 1.0F : 0.0F);
      codes[i] = static_cast<std::uint8_t>(levels + std::copysign(level, bucket.values[i]));
    }
  }

  bool read_head(std::span<const float> head, std::span<double> codebook) const override {
    const double norm = double{head[0]};
    const double levels = this->levels();
    for (std::size_t code = 0; code < codebook.size(); ++code) {
      codebook[code] = norm * (static_cast<double>(code) - levels) / levels;
    }
    return norm >= 0;
  }
};

CodebookCompressor::Options options_of(const Shape& shape, const Settings& settings) {
  return {.elements = shape.elements,
          .bucket = static_cast<std::size_t>(settings["bucket"]),
          .alphabet = 2 * levels_of(settings) + 1};
}

}  // namespace

Method qsgd_method() {
  return {.name = "qsgd",
          .summary = "levels of the norm of each bucket, rounded at random",
          .bias = Bias::unbiased,
          .settings = {{.name = "bits",
                        .usual = 8,
                        .least = 2,
                        .most = 8,
                        .is_whole = true,
                        .meaning = "bits of sign and level; s is 2^(bits - 1) - 1 levels, and 2 "
                                   "bits travel as 1.6"},
                       {.name = "levels",
                        .usual = 0,
                        .least = 0,
                        .most = 127,
                        .is_whole = true,
                        .meaning = "s itself, in place of bits; 0: bits decide"},
                       bucket_setting(512)},
          .formula_bits = [](const Shape& shape, const Settings& settings,
                             std::uint32_t) { return codebook_bits(options_of(shape, settings)); },
          .variance =
              [](const Shape& shape, const Settings& settings) {
                const double levels = levels_of(settings);
                const double bucket = bucket_of(shape, settings);
                return std::min(bucket / (levels * levels), std::sqrt(bucket) / levels);
              },
          .make = [](const Shape& shape, const Settings& settings) -> std::unique_ptr<Compressor> {
            return std::make_unique<Qsgd>(options_of(shape, settings));
          }};
}

}  // namespace infold::compress
