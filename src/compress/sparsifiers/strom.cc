// SPDX-License-Identifier: Apache-2.0
//
// The method `strom` (Strom 2015): an element above tau is sent as tau, and one below -tau as -tau,
// so only its index and its sign travel. A memory keeps the rest. If an element is NaN or infinite,
// all sent elements become NaN.
#include <algorithm>
#include <cmath>
#include <limits>

#include "compress/methods/methods.h"
#include "compress/selection/largest.h"
#include "compress/selection/selection.h"

namespace infold::compress {
namespace {

class Strom final : public TwoSided {
 public:
  Strom(double tau, Travel travel) : TwoSided(travel), tau_(float_below(tau)) {}

 private:
  void choose(std::span<const float> tensor, const Turn&,
              std::vector<std::uint32_t>& indices) override {
    append_kept(tensor, {.key = key_of(tau_), .ties = 0}, Side::both, indices);
  }
  Sides find_sides(std::span<const float> tensor,
                   std::span<const std::uint32_t> indices) const override {
    const bool is_finite =
        std::all_of(indices.begin(), indices.end(),
                    [tensor](std::uint32_t index) { return std::isfinite(tensor[index]); });
    if (!is_finite) return {std::nanf(""), std::nanf("")};
    return {tau_, -tau_};
  }

  float tau_;
};

}  // namespace

Method strom_method() {
  return {.name = "strom",
          .summary = "index and sign of the elements above tau, which count as tau",
          .bias = Bias::contractive,
          .settings = {{.name = "tau",
                        .usual = 0.01,
                        .least = 1e-30,
                        .most = std::numeric_limits<float>::max(),
                        .meaning = "the magnitude that is sent, and above which elements are"},
                       travel_setting()},
          .make = [](const Shape&, const Settings& settings) -> std::unique_ptr<Compressor> {
            return std::make_unique<Strom>(settings["tau"], travel_of(settings));
          },
          .check = check_selection};
}

}  // namespace infold::compress
