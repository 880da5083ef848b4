// SPDX-License-Identifier: Apache-2.0
//
// The method `adaq` (Dryden 2016, "Communication quantization for data-parallel training"): it
// sends the largest positive elements and the negative elements that are farthest from zero. Each
// side sends max(1, floor(ratio x its elements)), and one mean stands for all elements that it
// sends. Only indices, a bit for the side, and two means travel. A NaN or an infinity carries over
// to the mean of its side.
#include <algorithm>
#include <cmath>
#include <iterator>

#include "compress/methods/methods.h"
#include "compress/selection/largest.h"
#include "compress/selection/selection.h"

namespace infold::compress {
namespace {

class AdaQ final : public TwoSided {
 public:
  AdaQ(double ratio, Travel travel) : TwoSided(travel), ratio_(ratio) {}

 private:
  void choose(std::span<const float> tensor, const Turn&,
              std::vector<std::uint32_t>& indices) override {
    std::vector<std::uint32_t> above;
    std::vector<std::uint32_t> below;
    append_side(tensor, Side::above, above);
    append_side(tensor, Side::below, below);
    std::merge(above.begin(), above.end(), below.begin(), below.end(), std::back_inserter(indices));
  }

  void append_side(std::span<const float> tensor, Side side,
                   std::vector<std::uint32_t>& indices) const {
    const std::size_t kept = kept_elements(ratio_, count_from(tensor, 1, side));
    if (kept > 0) append_kept(tensor, find_cut(tensor, kept, side), side, indices);
  }

  Sides find_sides(std::span<const float> tensor,
                   std::span<const std::uint32_t> indices) const override {
    double above = 0;
    double below = 0;
    std::size_t count = 0;  // elements above zero
    for (const std::uint32_t index : indices) {
      const double value = tensor[index];
      const bool is_below = std::signbit(value);
      above += is_below ? 0 : value;
      below += is_below ? value : 0;
      count += is_below ? 0 : 1;
    }
    const std::size_t rest = indices.size() - count;
    return {count > 0 ? static_cast<float>(above / static_cast<double>(count)) : 0,
            rest > 0 ? static_cast<float>(below / static_cast<double>(rest)) : 0};
  }

  double ratio_;
};

}  // namespace

Method adaq_method() {
  return {.name = "adaq",
          .summary = "the largest elements of each sign, and one mean for each sign",
          .bias = Bias::contractive,
          .settings = {ratio_setting(), travel_setting()},
          .make = [](const Shape&, const Settings& settings) -> std::unique_ptr<Compressor> {
            return std::make_unique<AdaQ>(settings["ratio"], travel_of(settings));
          },
          .check = check_selection};
}

}  // namespace infold::compress
