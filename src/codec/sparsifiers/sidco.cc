// SPDX-License-Identifier: Apache-2.0
//
// The method `sidco` (Abdelmoniem 2021): a threshold from a law of how magnitudes are distributed.
// Sums over the tensor replace a selection. Its stages go from threshold to threshold: the elements
// above one are compacted, and the law is fitted anew to what they are above it.
//
// The first stage aims at a quarter of the elements. It is known how many elements a stage has
// kept. So each later one aims at an equal share, as a factor, of what is left to k elements. The
// paper shares before the first stage, and so keeps the errors of early stages.
//
// If all stages together miss k = max(1, floor(ratio x n)) by more than 20 %, the elements come
// from an exact selection instead, by a histogram of magnitudes. Zeros are never sent.
#include <algorithm>
#include <cmath>
#include <limits>

#include "codec/methods/methods.h"
#include "codec/selection/largest.h"
#include "codec/selection/selection.h"
#include "codec/sparsifiers/sidco_laws.h"

namespace infold::codec {
namespace {

enum class Law : std::uint8_t { exponential, gamma_then_pareto, pareto };

constexpr double kFirstPart = 0.25;

struct Options {
  double ratio = 0;
  Law law = Law::pareto;
  int stages = 1;
};

// Elements above a limit.
class Exceedances {
 public:
  std::size_t size() const { return indices_.size(); }
  std::span<const float> values() const { return values_; }
  const std::vector<std::uint32_t>& indices() const { return indices_; }

  void take(std::span<const float> tensor, float limit) {
    indices_.clear();
    append_kept(tensor, {.key = key_of(limit), .ties = 0}, Side::both, indices_);
    values_.resize(indices_.size());
    std::transform(indices_.begin(), indices_.end(), values_.begin(),
                   [tensor](std::uint32_t index) { return tensor[index]; });
  }
  void narrow(float limit) {
    std::size_t count = 0;
    for (std::size_t i = 0; i < size(); ++i) {
      const float value = values_[i];
      indices_[count] = indices_[i];
      values_[count] = value;
      count += std::abs(value) > limit ? 1 : 0;
    }
    indices_.resize(count);
    values_.resize(count);
  }

 private:
  std::vector<std::uint32_t> indices_;
  std::vector<float> values_;
};

class Sidco final : public SelectingCompressor {
 public:
  Sidco(const Options& options, Travel travel) : SelectingCompressor(travel), options_(options) {}

 private:
  void choose(std::span<const float> tensor, const Turn&,
              std::vector<std::uint32_t>& indices) override {
    const std::size_t wanted = kept_elements(options_.ratio, tensor.size());
    if (estimate(tensor, wanted) && is_near(found_.size(), wanted)) {
      indices = found_.indices();
    } else {
      append_kept(tensor, find_cut_above_zero(tensor, wanted), Side::both, indices);
    }
  }

  // Within 20 %.
  static bool is_near(std::size_t count, std::size_t wanted) {
    return 5 * count >= 4 * wanted && 5 * count <= 6 * wanted;
  }

  // False: no law has such moments.
  bool estimate(std::span<const float> tensor, std::size_t wanted) {
    float limit = 0;
    for (int stage = 0; stage < options_.stages; ++stage) {
      const std::span<const float> values = stage == 0 ? tensor : found_.values();
      const Moments moments = moments_of(values, limit);
      if (moments.count == 0) return false;
      const double part = static_cast<double>(wanted) / static_cast<double>(moments.count);
      if (part >= 1 && stage > 0) return true;
      const double next =
          part < 1 ? double{limit} + rise(values, moments, aim(part, stage), stage) : 0;
      if (!(next <= double{std::numeric_limits<float>::max()})) return false;
      limit = static_cast<float>(next);
      if (stage == 0) {
        found_.take(tensor, limit);
      } else {
        found_.narrow(limit);
      }
    }
    return true;
  }

  // The part of a stage's elements that it keeps, where `part` is to be kept in the end.
  double aim(double part, int stage) const {
    if (stage == 0) return options_.stages == 1 ? part : std::max(part, kFirstPart);
    return std::pow(part, 1.0 / (options_.stages - stage));
  }

  double rise(std::span<const float> values, const Moments& moments, double part, int stage) const {
    if (options_.law == Law::exponential) return exponential_limit(moments, part);
    if (options_.law == Law::gamma_then_pareto && stage == 0) {
      return gamma_limit(moments, mean_log_of(values), part);
    }
    return pareto_limit(moments, part);
  }

  Options options_;
  Exceedances found_;
};

std::vector<Setting> settings() {
  return {ratio_setting(),
          {.name = "law",
           .usual = 2,
           .least = 0,
           .most = 2,
           .is_whole = true,
           .meaning = "0: exponential; 1: gamma, then generalised Pareto; 2: generalised Pareto"},
          {.name = "stages",
           .usual = 3,
           .least = 1,
           .most = 4,
           .is_whole = true,
           .meaning = "how often the law is fitted"},
          travel_setting()};
}

}  // namespace

Method sidco_method() {
  return {.name = "sidco",
          .summary = "the largest elements, by a threshold from a law that is fitted in stages",
          .bias = Bias::contractive,
          .settings = settings(),
          .make = [](const Shape&, const Settings& settings) -> std::unique_ptr<Compressor> {
            return std::make_unique<Sidco>(
                Options{.ratio = settings["ratio"],
                        .law = static_cast<Law>(static_cast<int>(settings["law"])),
                        .stages = static_cast<int>(settings["stages"])},
                travel_of(settings));
          },
          .check = check_selection};
}

}  // namespace infold::codec
