// SPDX-License-Identifier: Apache-2.0
//
// The method `sidco` (Abdelmoniem 2021): it derives a threshold from a law of how magnitudes are
// distributed, so that sums over the tensor replace a selection. It works in stages. Each stage
// compacts the elements above the last threshold, and fits the law again to what they exceed it by.
//
// The stages of a large tensor see only a sample. Afterwards, one pass over the tensor takes the
// elements above the last threshold. The sample is so large that 4,096 of its elements are expected
// above that threshold, so sampling changes the number of kept elements by about 2 %.
//
// The first stage aims at a quarter of the elements. Each later stage knows how many elements the
// one before has kept, and divides the remaining reduction to k elements into equal factors. The
// paper fixes all factors before the first stage, so errors of early stages remain.
//
// If the result misses k = max(1, floor(ratio x n)) by more than 20 %, an exact selection by a
// histogram of magnitudes replaces it. Zeros are never sent.
//
// The number of stages follows the tensor. If the law's thresholds kept fewer than 0.8 k or more
// than 1.2 k elements in the average of five steps, the number changes by one: at first up if they
// were too few and down if they were too many, and then in the other direction whenever the average
// has become worse. The paper has one number for all tensors, and here each tensor has its own.
#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

#include "compress/counter_random.h"
#include "compress/methods/methods.h"
#include "compress/selection/largest.h"
#include "compress/selection/selection.h"
#include "compress/sparsifiers/sidco_laws.h"

namespace infold::compress {
namespace {

enum class Law : std::uint8_t { exponential, gamma_then_pareto, pareto };

constexpr double kFirstPart = 0.25;
constexpr double kKeptOfSample = 4096;
constexpr std::uint64_t kRun = 16;  // floats in a cache line
constexpr int kStagesMax = 10;
constexpr int kStepsOfAverage = 5;
constexpr double kCountedMost = 4;  // a single step counts as at most this multiple of k

struct Options {
  double ratio = 0;
  Law law = Law::pareto;
  int stages = 1;
};

class Sidco final : public SelectingCompressor {
 public:
  Sidco(const Options& options, Travel travel)
      : SelectingCompressor(travel),
        options_(options),
        kept_{static_cast<float>(options.stages), 0, 0, 0, 0} {}

  bool fell_back() const override { return fell_back_; }
  void commit() override {
    kept_[kSum] += kept_of_wanted_;
    kept_[kSteps] += 1;
    if (kept_[kSteps] < kStepsOfAverage) return;
    const float average = kept_[kSum] / kept_[kSteps];
    kept_[kSum] = kept_[kSteps] = 0;
    const float miss = std::abs(average - 1);
    if (is_few(average) || is_many(average)) {
      adapt(miss, is_few(average));
    } else {
      kept_[kMiss] = 0;
    }
  }
  std::vector<Kept> kept() override { return {{"stages", &kept_}}; }

 private:
  void choose(std::span<const float> tensor, const Turn& turn,
              std::vector<std::uint32_t>& indices) override {
    const std::size_t wanted = kept_elements(options_.ratio, tensor.size());
    const std::optional<float> limit = estimate(seen_of(tensor, turn), wanted, tensor.size());
    if (limit) append_kept(tensor, above(*limit), Side::both, indices);
    const double of_wanted =
        static_cast<double>(indices.size()) / static_cast<double>(std::max<std::size_t>(wanted, 1));
    kept_of_wanted_ = static_cast<float>(std::min(of_wanted, kCountedMost));
    fell_back_ = !limit || is_few(kept_of_wanted_) || is_many(kept_of_wanted_);
    if (!fell_back_) return;
    indices.clear();
    append_kept(tensor, find_cut_above_zero(tensor, wanted), Side::both, indices);
  }

  static bool is_few(float of_wanted) { return of_wanted < 0.8F; }
  static bool is_many(float of_wanted) { return of_wanted > 1.2F; }

  void adapt(float miss, bool is_few) {
    if (kept_[kMiss] == 0) {
      kept_[kUp] = is_few ? 1 : 0;
    } else if (miss > kept_[kMiss]) {
      kept_[kUp] = kept_[kUp] == 0 ? 1 : 0;
    }
    kept_[kMiss] = miss;
    if (stages() == 1) kept_[kUp] = 1;
    if (stages() >= stages_most()) kept_[kUp] = 0;
    const int next = stages() + (kept_[kUp] == 0 ? -1 : 1);
    kept_[kStages] = static_cast<float>(std::clamp(next, 1, stages_most()));
  }

  // A loaded state may contain any number.
  int stages() const {
    return kept_[kStages] >= 1 ? static_cast<int>(std::min<float>(kept_[kStages], kStagesMax)) : 1;
  }
  // With more stages, each one would keep more than half of the elements.
  int stages_most() const {
    return std::clamp(static_cast<int>(std::ceil(-std::log2(options_.ratio))), 1, kStagesMax);
  }
  static Cut above(float limit) { return {.key = key_of(limit), .ties = 0}; }

  // Returns what the stages see: the tensor, or a sample of it in short runs. Each run is drawn
  // from a stretch of its own.
  std::span<const float> seen_of(std::span<const float> tensor, const Turn& turn) {
    const double enough = kKeptOfSample / options_.ratio;
    if (2 * enough > static_cast<double>(tensor.size())) return tensor;
    const std::uint64_t runs = static_cast<std::uint64_t>(enough) / kRun;
    const CounterRandom random = CounterRandom::own(turn, 0);
    sample_.resize(runs * kRun);
    for (std::uint64_t i = 0; i < runs; ++i) {
      const std::uint64_t first = i * tensor.size() / runs;
      const std::uint64_t places = (i + 1) * tensor.size() / runs - first - kRun + 1;
      const std::uint64_t place = first + ((random.bits(i) * places) >> 32);
      std::copy_n(&tensor[place], kRun, &sample_[i * kRun]);
    }
    return sample_;
  }

  // Estimates from the seen elements the limit above which `wanted` of `size` elements are
  // expected. Returns nothing if no law has such moments.
  std::optional<float> estimate(std::span<const float> seen, std::size_t wanted, std::size_t size) {
    const double wanted_of_seen =
        static_cast<double>(wanted) * static_cast<double>(seen.size()) / static_cast<double>(size);
    float limit = 0;
    const int stages = this->stages();
    for (int stage = 0; stage < stages; ++stage) {
      const std::span<const float> values = stage == 0 ? seen : exceedances_;
      const Moments moments = moments_of(values, limit);
      if (moments.count == 0) return std::nullopt;
      const double part = wanted_of_seen / static_cast<double>(moments.count);
      if (part >= 1 && stage > 0) return limit;
      const double next =
          part < 1 ? double{limit} + rise(values, moments, aim(part, stages - stage, stage), stage)
                   : 0;
      if (!(next <= double{std::numeric_limits<float>::max()})) return std::nullopt;
      limit = static_cast<float>(next);
      if (stage + 1 == stages) break;
      if (stage == 0) {
        take(seen, limit);
      } else {
        narrow(limit);
      }
    }
    return limit;
  }

  // Sets the exceedances to the seen elements above the limit.
  void take(std::span<const float> seen, float limit) {
    places_.clear();
    append_kept(seen, above(limit), Side::both, places_);
    exceedances_.resize(places_.size());
    std::transform(places_.begin(), places_.end(), exceedances_.begin(),
                   [seen](std::uint32_t place) { return seen[place]; });
  }
  void narrow(float limit) {
    std::size_t count = 0;
    for (const float value : exceedances_) {
      exceedances_[count] = value;
      count += std::abs(value) > limit ? 1 : 0;
    }
    exceedances_.resize(count);
  }

  // Returns the part of its elements that a stage should keep, if `part` of them should be left
  // after this stage and the later ones. `left` counts these stages.
  static double aim(double part, int left, int stage) {
    if (left == 1) return part;
    return stage == 0 ? std::max(part, kFirstPart) : std::pow(part, 1.0 / left);
  }

  double rise(std::span<const float> values, const Moments& moments, double part, int stage) const {
    if (options_.law == Law::exponential) return exponential_limit(moments, part);
    if (options_.law == Law::gamma_then_pareto && stage == 0) {
      return gamma_limit(moments, mean_log_of(values), part);
    }
    return pareto_limit(moments, part);
  }

  enum : std::size_t { kStages, kSum, kSteps, kUp, kMiss };

  const Options options_;
  bool fell_back_ = false;
  float kept_of_wanted_ = 0;  // by the law's threshold, in the present step
  // The number of stages, the sum of kept_of_wanted_ over how many steps, the direction of the next
  // change, and how far the last average was from 1; 0 if it was near.
  std::vector<float> kept_;
  std::vector<float> sample_;
  std::vector<float> exceedances_;
  std::vector<std::uint32_t> places_;  // where the exceedances lie among the seen elements
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
           .meaning = "how often the law is fitted at first"},
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
          .check = check_selection,
          .kept_fits_all_settings = true};
}

}  // namespace infold::compress
