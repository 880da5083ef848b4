// SPDX-License-Identifier: Apache-2.0
//
// Chooses the next piece of work, and draws its duration.
#include "study/mix/program/gpu.h"

#include <algorithm>
#include <utility>

#include "base/check.h"

namespace infold::mix {
namespace {

// No draw makes a piece of work shorter than this share of its mean.
constexpr double kFactorMin = 0.1;

}  // namespace

// The sum of twelve uniform numbers has variance 1 and is close to normal. It does not need a
// mathematical library, whose functions differ in their last bits between machines.
double draw_normal(base::Prng& random) {
  double sum = -6;
  for (int i = 0; i < 12; ++i) sum += random.uniform();
  return sum;
}

Gpu::Gpu(const GpuOptions& options)
    : options_(options), random_(options.seed), weights_(options.layers.size(), Weights::ready) {
  CHECK(!options.layers.empty());
}

void Gpu::choose() {
  if (is_backward_) {
    work_ = Work::backward;
    layer_ = next_;
    return;
  }
  if (iteration_ < options_.iterations && weights_[next_] == Weights::ready) {
    work_ = Work::forward;
    layer_ = next_;
    return;
  }
  const auto summed = std::find(weights_.begin(), weights_.end(), Weights::summed);
  if (summed == weights_.end()) return;
  work_ = Work::update;
  layer_ = static_cast<std::uint32_t>(summed - weights_.begin());
}

std::optional<base::Duration> Gpu::begin() {
  CHECK(!is_busy());
  choose();
  if (!is_busy()) return std::nullopt;
  const base::Duration time = time_of_work();
  worked_ = worked_ + time;
  return time;
}

base::Duration Gpu::time_of_work() {
  const Layer& layer = options_.layers[layer_];
  const double us = work_ == Work::forward    ? layer.forward_us
                    : work_ == Work::backward ? layer.backward_us
                                              : layer.update_us;
  const double factor =
      options_.sigma > 0 ? std::max(kFactorMin, 1 + options_.sigma * draw_normal(random_)) : 1;
  return base::nanoseconds(
      static_cast<std::int64_t>(us * 1e3 * options_.time_scale * factor + 0.5));
}

std::optional<std::uint32_t> Gpu::end() {
  CHECK(is_busy());
  const auto count = static_cast<std::uint32_t>(weights_.size());
  switch (std::exchange(work_, Work::none)) {
    case Work::none: break;
    case Work::forward:
      if (++next_ == count) {
        is_backward_ = true;
        --next_;
      }
      break;
    case Work::backward:
      weights_[layer_] = Weights::summing;
      ++updates_missing_;
      if (layer_ == 0) {
        is_backward_ = false;
        ++iteration_;
      } else {
        --next_;
      }
      return layer_;
    case Work::update:
      weights_[layer_] = Weights::ready;
      --updates_missing_;
      break;
  }
  return std::nullopt;
}

void Gpu::take_sum(std::uint32_t layer) {
  CHECK(weights_[layer] == Weights::summing);
  weights_[layer] = Weights::summed;
}

}  // namespace infold::mix
