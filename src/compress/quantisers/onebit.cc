// SPDX-License-Identifier: Apache-2.0
//
// The method `onebit` (Seide 2014): a bit for each element says on which side of zero it is, and
// stands for the mean of the elements on that side. Each bucket has its own means. A bucket with a
// NaN or an infinity becomes NaN.
//
// A code has two f32 for each bucket, the mean below zero and the mean of the rest, and then the
// bits.
#include <cmath>
#include <cstring>

#include <infold/compressor.h>

#include "compress/bits.h"
#include "compress/methods/methods.h"

namespace infold::compress {
namespace {

struct Means {
  float below = 0;
  float rest = 0;
};

class OneBit final : public GatheredCompressor {
 public:
  OneBit(std::size_t elements, std::size_t bucket) : elements_(elements), bucket_(bucket) {}

 private:
  std::size_t buckets() const { return (elements_ + bucket_ - 1) / bucket_; }

  static Means means_of(std::span<const float> bucket) {
    double below = 0;
    double rest = 0;
    std::size_t count = 0;
    for (const float value : bucket) {
      if (value < 0) {
        below += double{value};
        ++count;
      } else {
        rest += double{value};
      }
    }
    const std::size_t others = bucket.size() - count;
    if (!std::isfinite(below) || !std::isfinite(rest)) return {std::nanf(""), std::nanf("")};
    return {count > 0 ? static_cast<float>(below / static_cast<double>(count)) : 0,
            others > 0 ? static_cast<float>(rest / static_cast<double>(others)) : 0};
  }

  void encode(std::span<const float> tensor, const Turn&, std::vector<std::byte>& code) override {
    code.resize(buckets() * sizeof(Means));
    for (std::size_t i = 0; i < buckets(); ++i) {
      const std::size_t first = i * bucket_;
      const Means means = means_of(tensor.subspan(first, std::min(bucket_, tensor.size() - first)));
      std::memcpy(code.data() + i * sizeof(Means), &means, sizeof(Means));
    }
    BitWriter bits(code);
    for (const float value : tensor) bits.put(value < 0 ? 1 : 0, 1);
    bits.finish();
  }

  bool add(std::span<const std::byte> code, std::span<double> sums) const override {
    const std::size_t heads = buckets() * sizeof(Means);
    if (code.size() != code_bytes_max()) return false;
    BitReader bits(code.subspan(heads));
    for (std::size_t i = 0; i < elements_; ++i) {
      Means means;
      std::memcpy(&means, code.data() + i / bucket_ * sizeof(Means), sizeof(Means));
      sums[i] += double{bits.take(1) == 1 ? means.below : means.rest};
    }
    return true;
  }

  // Every code has exactly this length.
  std::size_t code_bytes_max() const override {
    return buckets() * sizeof(Means) + packed_bytes(elements_, 1);
  }

  std::size_t elements_;
  std::size_t bucket_;
};

}  // namespace

Method onebit_method() {
  return {.name = "onebit",
          .summary = "the sign of each element, and two means for each bucket",
          .bias = Bias::contractive,
          .settings = {{.name = "bucket",
                        .usual = 4096,
                        .least = 32,
                        .most = 1 << 24,
                        .is_whole = true,
                        .meaning = "elements that share two means"}},
          .formula_bits =
              [](const Shape& shape, const Settings& settings, std::uint32_t) {
                const auto elements = static_cast<double>(shape.elements);
                return elements + 64 * std::ceil(elements / settings["bucket"]);
              },
          .make = [](const Shape& shape, const Settings& settings) -> std::unique_ptr<Compressor> {
            return std::make_unique<OneBit>(shape.elements,
                                            static_cast<std::size_t>(settings["bucket"]));
          }};
}

}  // namespace infold::compress
