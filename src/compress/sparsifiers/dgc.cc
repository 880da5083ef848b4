// SPDX-License-Identifier: Apache-2.0
//
// The method `dgc` (Lin 2018, "Deep gradient compression"): it takes a threshold from a random
// sample of 1 % of the elements. If the threshold does not keep the wanted number of elements
// within 30 %, it is scaled by 1.3 or 0.7, and the elements are counted again. If that was not
// enough, the next factor is the square of this one. After one threshold that kept too many and one
// that kept too few, the next one is between the two. After 10 counts, the best one is taken. Zeros
// are never sent.
//
// The memory `dgc` comes from the same paper but is chosen separately.
#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>

#include "compress/counter_random.h"
#include "compress/methods/methods.h"
#include "compress/selection/largest.h"
#include "compress/selection/selection.h"

namespace infold::compress {
namespace {

constexpr double kSampled = 0.01;
constexpr std::size_t kSampledLeast = 1024;  // fewer say little about a small part
constexpr int kCountsMost = 10;
constexpr double kBand = 0.3;

class Dgc final : public SelectingCompressor {
 public:
  Dgc(double ratio, Travel travel) : SelectingCompressor(travel), ratio_(ratio) {}

 private:
  void choose(std::span<const float> tensor, const Turn& turn,
              std::vector<std::uint32_t>& indices) override {
    if (tensor.empty()) return;
    const std::uint32_t key = adjust(tensor, threshold_of_sample(tensor, turn));
    append_kept(tensor, {.key = key - 1, .ties = 0}, Side::both, indices);
  }

  // Each sampled element is drawn from a stretch of its own, so no element is drawn twice.
  float threshold_of_sample(std::span<const float> tensor, const Turn& turn) const {
    const std::size_t size = tensor.size();
    const auto part = static_cast<std::size_t>(std::ceil(kSampled * static_cast<double>(size)));
    const std::size_t count = std::min(size, std::max(part, kSampledLeast));
    const CounterRandom random = CounterRandom::own(turn, 0);
    std::vector<std::uint32_t> sample(count);
    for (std::uint64_t i = 0; i < count; ++i) {
      const std::uint64_t first = i * size / count;
      const std::uint64_t width = (i + 1) * size / count - first;
      sample[i] = key_of(tensor[first + ((random.bits(i) * width) >> 32)]);
    }
    const auto last =
        sample.begin() + static_cast<std::ptrdiff_t>(kept_elements(ratio_, count) - 1);
    std::nth_element(sample.begin(), last, sample.end(), std::greater<>());
    return bounded(*last);
  }

  // Elements of this magnitude and above are kept, so it must be finite and above zero.
  static float bounded(std::uint32_t key) {
    return magnitude_of(std::clamp(key, std::uint32_t{1}, kInfinityKey - 1));
  }

  // Returns the least key that is kept. A key that keeps no element at all is never chosen, because
  // a residual of equal elements would then never be sent.
  std::uint32_t adjust(std::span<const float> tensor, float threshold) const {
    const auto wanted = static_cast<double>(kept_elements(ratio_, tensor.size()));
    double too_low = 0;
    double too_high = 0;
    std::uint32_t best = 1;
    double least_miss = std::numeric_limits<double>::infinity();
    double up = 1.3;
    double down = 0.7;
    for (int counts = 0; counts < kCountsMost; ++counts) {
      const std::uint32_t key = key_of(threshold);
      const double part = static_cast<double>(count_from(tensor, key)) / wanted;
      const double miss = part > 1 ? part : 1 / part;
      if (part >= 1 - kBand && part <= 1 + kBand) return key;
      if (miss < least_miss) {
        best = key;
        least_miss = miss;
      }
      (part > 1 ? too_low : too_high) = double{threshold};
      double next = std::sqrt(too_low * too_high);
      if (too_low == 0) next = too_high * down;
      if (too_high == 0) next = too_low * up;
      up *= up;
      down *= down;
      const double most = std::numeric_limits<float>::max();
      threshold = bounded(key_of(static_cast<float>(std::min(next, most))));
    }
    return best;
  }

  double ratio_;
};

}  // namespace

Method dgc_method() {
  return {.name = "dgc",
          .summary = "the largest elements, by a threshold from a random sample",
          .bias = Bias::contractive,
          .settings = {ratio_setting(), travel_setting()},
          .make = [](const Shape&, const Settings& settings) -> std::unique_ptr<Compressor> {
            return std::make_unique<Dgc>(settings["ratio"], travel_of(settings));
          },
          .check = check_selection};
}

}  // namespace infold::compress
