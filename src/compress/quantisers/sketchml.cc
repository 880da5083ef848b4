// SPDX-License-Identifier: Apache-2.0
//
// The method `sketchml` (SketchML 2018): edges at the quantiles of a bucket divide its elements
// into bins with about equally many elements, and each element becomes the mean of its bin.
//
// The lowest edge that is not below zero, or else the last edge, is moved to zero. No bin then has
// elements of both signs, so the mean of a bin is not zero unless all its elements are, and the
// error is smaller than the tensor. Quantiles come from at most 4096 elements at equal distances;
// means come from all elements.
//
// The head has the means of the bins, and 0 for an empty bin. A code is the number of a bin. Any
// finite means make a valid head.
#include <algorithm>
#include <bit>
#include <limits>

#include "compress/methods/methods.h"
#include "compress/quantisers/codebook.h"

namespace infold::compress {
namespace {

constexpr std::size_t kSampleMost = 4096;

// Returns the edges in ascending order. Bin b has the elements from edge b - 1 up to, but not
// including, edge b.
std::vector<float> edges_of(std::span<const float> values, std::size_t bins) {
  std::vector<float> sample(std::min(values.size(), kSampleMost));
  for (std::size_t i = 0; i < sample.size(); ++i) {
    sample[i] = values[i * values.size() / sample.size()];
  }
  std::sort(sample.begin(), sample.end());
  std::vector<float> edges(bins - 1);
  for (std::size_t i = 0; i < edges.size(); ++i) edges[i] = sample[(i + 1) * sample.size() / bins];
  const auto above = std::lower_bound(edges.begin(), edges.end(), 0.0F);
  (above == edges.end() ? edges.back() : *above) = 0;
  return edges;
}

class SketchMl final : public CodebookCompressor {
 public:
  using CodebookCompressor::CodebookCompressor;

 private:
  void encode_bucket(const Bucket& bucket, std::span<float> head,
                     std::span<std::uint8_t> codes) const override {
    const std::vector<float> edges = edges_of(bucket.values, alphabet());
    // Pads the edges with infinities, so that a binary search needs no branches.
    std::vector<float> padded(std::bit_ceil(std::size_t{alphabet()}),
                              std::numeric_limits<float>::infinity());
    std::copy(edges.begin(), edges.end(), padded.begin());
    for (std::size_t i = 0; i < codes.size(); ++i) {
      std::size_t bin = 0;
      for (std::size_t step = padded.size() / 2; step > 0; step /= 2) {
        bin += bucket.values[i] >= padded[bin + step - 1] ? step : 0;
      }
      codes[i] = static_cast<std::uint8_t>(bin);
    }
    write_means(bucket.values, codes, head);
  }

  static void write_means(std::span<const float> values, std::span<const std::uint8_t> codes,
                          std::span<float> means) {
    std::vector<double> sums(means.size());
    std::vector<std::size_t> counts(means.size());
    for (std::size_t i = 0; i < values.size(); ++i) {
      sums[codes[i]] += double{values[i]};
      ++counts[codes[i]];
    }
    for (std::size_t bin = 0; bin < means.size(); ++bin) {
      const auto count = static_cast<double>(std::max<std::size_t>(1, counts[bin]));
      means[bin] = static_cast<float>(sums[bin] / count);
    }
  }

  bool read_head(std::span<const float> head, std::span<double> codebook) const override {
    std::transform(head.begin(), head.end(), codebook.begin(),
                   [](float mean) { return double{mean}; });
    return true;
  }
};

CodebookCompressor::Options options_of(const Shape& shape, const Settings& settings) {
  const auto bins = static_cast<std::size_t>(settings["bins"]);
  const std::size_t useful = std::clamp<std::size_t>(shape.elements, 2, bins);
  return {.elements = shape.elements,
          .bucket = static_cast<std::size_t>(settings["bucket"]),
          .head_floats = useful,
          .alphabet = static_cast<std::uint32_t>(useful)};
}

}  // namespace

Method sketchml_method() {
  return {.name = "sketchml",
          .summary = "the mean of each element's bin, between quantiles of its bucket",
          .bias = Bias::contractive,
          .settings = {{.name = "bins",
                        .usual = 64,
                        .least = 2,
                        .most = 256,
                        .is_whole = true,
                        .meaning = "bins of a bucket"},
                       bucket_setting(16384)},
          .formula_bits = [](const Shape& shape, const Settings& settings,
                             std::uint32_t) { return codebook_bits(options_of(shape, settings)); },
          .make = [](const Shape& shape, const Settings& settings) -> std::unique_ptr<Compressor> {
            return std::make_unique<SketchMl>(options_of(shape, settings));
          }};
}

}  // namespace infold::compress
