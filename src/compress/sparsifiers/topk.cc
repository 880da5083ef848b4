// SPDX-License-Identifier: Apache-2.0
//
// The method `topk`: it sends the elements of the largest magnitudes, exactly max(1, floor(ratio x
// n)) of them. Among equal magnitudes, lower indices go first. A NaN counts as larger than all
// numbers and is sent as it is.
#include "compress/methods/methods.h"
#include "compress/selection/index_code.h"
#include "compress/selection/largest.h"
#include "compress/selection/selection.h"

namespace infold::compress {
namespace {

class TopK final : public SelectingCompressor {
 public:
  TopK(double ratio, Travel travel) : SelectingCompressor(travel), ratio_(ratio) {}

 private:
  void choose(std::span<const float> tensor, const Turn&,
              std::vector<std::uint32_t>& indices) override {
    const std::size_t kept = kept_elements(ratio_, tensor.size());
    append_kept(tensor, find_cut(tensor, kept), Side::both, indices);
  }

  double ratio_;
};

// Counts indices at their entropy, and 32 bits for each value. In an aggregated sparse sum, an
// index has 32 bits.
double formula_bits(const Shape& shape, const Settings& settings, std::uint32_t) {
  const auto kept = static_cast<double>(kept_elements(settings["ratio"], shape.elements));
  if (travel_of(settings) == Travel::rows) return 64 * kept;
  return 32 + 32 * kept + entropy_of_indices(kept, static_cast<double>(shape.elements));
}

}  // namespace

Method topk_method() {
  return {.name = "topk",
          .summary = "the elements of the largest magnitudes, by exact selection",
          .bias = Bias::contractive,
          .settings = {ratio_setting(), travel_setting()},
          .formula_bits = formula_bits,
          .make = [](const Shape&, const Settings& settings) -> std::unique_ptr<Compressor> {
            return std::make_unique<TopK>(settings["ratio"], travel_of(settings));
          },
          .check = check_selection};
}

}  // namespace infold::compress
