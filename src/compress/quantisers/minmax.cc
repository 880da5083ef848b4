// SPDX-License-Identifier: Apache-2.0
//
// The method `minmax` (CGX): each element becomes one of 2^bits equally spaced numbers from the
// smallest to the largest element of its bucket. With random=1, it is the number below or above the
// element at random, so that its mean is the element, except for 2^-24 of a step. With random=0, it
// is the nearest number, which is biased.
//
// With few bits, the error may be larger than the tensor, however elements are rounded, so a
// residual is refused.
//
// The head has the smallest and the largest element; a head in the other order is refused. A code
// counts steps from the smallest element.
#include <algorithm>
#include <cmath>

#include "compress/methods/methods.h"
#include "compress/quantisers/codebook.h"

namespace infold::compress {
namespace {

class MinMax final : public CodebookCompressor {
 public:
  MinMax(const Options& options, bool is_random)
      : CodebookCompressor(options), is_random_(is_random) {}

 private:
  void encode_bucket(const Bucket& bucket, std::span<float> head,
                     std::span<std::uint8_t> codes) const override {
    const auto [least, most] = std::minmax_element(bucket.values.begin(), bucket.values.end());
    head[0] = *least;
    head[1] = *most;
    const double start = double{*least};
    const double width = double{*most} - start;
    const double steps = alphabet() - 1;
    const double factor = width > 0 ? steps / width : 0;
    for (std::size_t i = 0; i < codes.size(); ++i) {
      const double exact = std::min((double{bucket.values[i]} - start) * factor, steps);
      const double below = std::floor(exact);
      const double chance = is_random_ ? double{bucket.uniform(i)} : 0.5;
      codes[i] = static_cast<std::uint8_t>(below + (chance < exact - below ? 1 : 0));
    }
  }

  // The numerators are exact at both ends, so both ends of the codebook are exact.
  bool read_head(std::span<const float> head, std::span<double> codebook) const override {
    const double steps = alphabet() - 1;
    for (std::size_t code = 0; code < codebook.size(); ++code) {
      const auto up = static_cast<double>(code);
      codebook[code] = (double{head[0]} * (steps - up) + double{head[1]} * up) / steps;
    }
    return head[0] <= head[1];
  }

  bool is_random_;
};

CodebookCompressor::Options options_of(const Shape& shape, const Settings& settings) {
  return {.elements = shape.elements,
          .bucket = static_cast<std::size_t>(settings["bucket"]),
          .head_floats = 2,
          .alphabet = std::uint32_t{1} << static_cast<std::uint32_t>(settings["bits"])};
}

}  // namespace

Method minmax_method() {
  return {.name = "minmax",
          .summary = "equal steps from the smallest to the largest element of each bucket",
          .bias = Bias::unbiased,
          .settings = {{.name = "bits",
                        .usual = 4,
                        .least = 1,
                        .most = 8,
                        .is_whole = true,
                        .meaning = "bits of an element's code"},
                       bucket_setting(512),
                       {.name = "random",
                        .usual = 1,
                        .least = 0,
                        .most = 1,
                        .is_whole = true,
                        .meaning = "1: rounded at random, unbiased; 0: to the nearest, biased"}},
          .formula_bits = [](const Shape& shape, const Settings& settings,
                             std::uint32_t) { return codebook_bits(options_of(shape, settings)); },
          .make = [](const Shape& shape, const Settings& settings) -> std::unique_ptr<Compressor> {
            return std::make_unique<MinMax>(options_of(shape, settings), settings["random"] == 1);
          }};
}

}  // namespace infold::compress
