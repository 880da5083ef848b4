// SPDX-License-Identifier: Apache-2.0
//
// The method `table8` (Dettmers 2015): each element, divided by the largest magnitude of its
// bucket, becomes the nearest of 256 numbers. The numbers form a dynamic tree: each decade has
// twice as many as the next smaller decade, so that large elements have a small error and small
// elements are kept.
//
//   decade z of 0 to 6: the middles of 2^(6 - z) equal parts of 0.1 to 1, times 10^-z, and minus
//   them; then 0 and 1
//
// The table has no -1; the nearest number is -0.993. The head is the largest magnitude, and a
// negative head is refused. A code is the index in the ascending table.
#include <algorithm>
#include <array>
#include <cmath>

#include "compress/magnitudes.h"
#include "compress/methods/methods.h"
#include "compress/quantisers/codebook.h"

namespace infold::compress {
namespace {

constexpr std::uint32_t kAlphabet = 256;
using Table = std::array<double, kAlphabet>;

// Each number is a single quotient of exact integers, so all machines compute the same table.
Table make_table() {
  Table table = {0, 1};
  std::size_t at = 2;
  double decade = 1;
  for (int z = 0; z < 7; ++z, decade *= 10) {
    const int parts = 64 >> z;
    for (int k = 0; k < parts; ++k) {
      const double number = (2 * parts + 9 * (2 * k + 1)) / (20 * parts * decade);
      table[at++] = number;
      table[at++] = -number;
    }
  }
  std::sort(table.begin(), table.end());
  return table;
}

const Table& table() {
  static const Table numbers = make_table();
  return numbers;
}

// Returns the middles between neighbours. The last entry is above all numbers.
std::array<float, kAlphabet> make_middles() {
  std::array<float, kAlphabet> middles = {};
  for (std::size_t i = 0; i + 1 < kAlphabet; ++i) {
    middles[i] = static_cast<float>((table()[i] + table()[i + 1]) / 2);
  }
  middles[kAlphabet - 1] = 2;
  return middles;
}

class Table8 final : public CodebookCompressor {
 public:
  explicit Table8(const Options& options) : CodebookCompressor(options), middles_(make_middles()) {}

 private:
  // Counts the middles below `part`, with a binary search without branches.
  std::uint8_t nearest(float part) const {
    std::size_t code = 0;
    for (std::size_t step = kAlphabet / 2; step > 0; step /= 2) {
      code += part > middles_[code + step - 1] ? step : 0;
    }
    return static_cast<std::uint8_t>(code);
  }

  void encode_bucket(const Bucket& bucket, std::span<float> head,
                     std::span<std::uint8_t> codes) const override {
    head[0] = largest_magnitude(bucket.values);
    const float divisor = head[0] > 0 ? head[0] : 1;
    for (std::size_t i = 0; i < codes.size(); ++i) codes[i] = nearest(bucket.values[i] / divisor);
  }

  bool read_head(std::span<const float> head, std::span<double> codebook) const override {
    const double most = double{head[0]};
    std::transform(table().begin(), table().end(), codebook.begin(),
                   [most](double number) { return number * most; });
    return most >= 0;
  }

  std::array<float, kAlphabet> middles_;
};

CodebookCompressor::Options options_of(const Shape& shape, const Settings& settings) {
  return {.elements = shape.elements,
          .bucket = static_cast<std::size_t>(settings["bucket"]),
          .alphabet = kAlphabet};
}

}  // namespace

Method table8_method() {
  return {.name = "table8",
          .summary = "the nearest of 256 numbers of a dynamic tree, under a scale a bucket",
          .bias = Bias::contractive,
          .settings = {bucket_setting(4096)},
          .formula_bits = [](const Shape& shape, const Settings& settings,
                             std::uint32_t) { return codebook_bits(options_of(shape, settings)); },
          .make = [](const Shape& shape, const Settings& settings) -> std::unique_ptr<Compressor> {
            return std::make_unique<Table8>(options_of(shape, settings));
          }};
}

}  // namespace infold::compress
