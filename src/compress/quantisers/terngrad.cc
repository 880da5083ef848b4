// SPDX-License-Identifier: Apache-2.0
//
// The method `terngrad` (Wen 2017): each element becomes -M, 0 or M, where M is the largest
// magnitude of its bucket. The probability that it is not zero is |x| / M. Five elements share a
// byte.
//
// With a `clip` c above 0, M is at most c standard deviations, and magnitudes above M become M, so
// the result is biased. check_pair() refuses a residual with this method in any case. The
// deviation is measured from zero and not from the mean, because otherwise a bucket of equal
// elements would lose all of them.
//
// The head is M. A negative M is refused.
#include <algorithm>
#include <cmath>

#include "compress/magnitudes.h"
#include "compress/methods/methods.h"
#include "compress/quantisers/codebook.h"

namespace infold::compress {
namespace {

class TernGrad final : public CodebookCompressor {
 public:
  TernGrad(const Options& options, double clip) : CodebookCompressor(options), clip_(clip) {}

 private:
  float most_of(std::span<const float> values) const {
    const float most = largest_magnitude(values);
    if (clip_ == 0) return most;
    double squares = 0;
    for (const float value : values) squares += double{value} * double{value};
    const double deviation = std::sqrt(squares / static_cast<double>(values.size()));
    return static_cast<float>(std::min(double{most}, clip_ * deviation));
  }

  void encode_bucket(const Bucket& bucket, std::span<float> head,
                     std::span<std::uint8_t> codes) const override {
    const float most = most_of(bucket.values);
    head[0] = most;
    const float divisor = most > 0 ? most : 1;
    for (std::size_t i = 0; i < codes.size(); ++i) {
      const float value = bucket.values[i];
      const float trit = bucket.uniform(i) < std::abs(value) / divisor ? 1.0F : 0.0F;
      codes[i] = static_cast<std::uint8_t>(1 + std::copysign(trit, value));
    }
  }

  bool read_head(std::span<const float> head, std::span<double> codebook) const override {
    codebook[0] = double{-head[0]};
    codebook[1] = 0;
    codebook[2] = double{head[0]};
    return head[0] >= 0;
  }

  double clip_;
};

CodebookCompressor::Options options_of(const Shape& shape, const Settings& settings) {
  return {.elements = shape.elements,
          .bucket = static_cast<std::size_t>(settings["bucket"]),
          .alphabet = 3};
}

}  // namespace

Method terngrad_method() {
  return {.name = "terngrad",
          .summary = "minus, zero or plus the largest magnitude of the bucket, at random",
          .bias = Bias::unbiased,
          .settings = {{.name = "clip",
                        .usual = 0,
                        .least = 0,
                        .most = 100,
                        .meaning = "standard deviations at which magnitudes end; 0: none do. The "
                                   "paper has 2.5. Above 0 the result is biased"},
                       {.name = "bucket",
                        .usual = 0,
                        .least = 0,
                        .most = 1 << 24,
                        .is_whole = true,
                        .meaning = "elements that share a magnitude; 0: all of the tensor"}},
          .formula_bits = [](const Shape& shape, const Settings& settings,
                             std::uint32_t) { return codebook_bits(options_of(shape, settings)); },
          .make = [](const Shape& shape, const Settings& settings) -> std::unique_ptr<Compressor> {
            return std::make_unique<TernGrad>(options_of(shape, settings), settings["clip"]);
          }};
}

}  // namespace infold::compress
