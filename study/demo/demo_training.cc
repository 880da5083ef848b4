// SPDX-License-Identifier: Apache-2.0
//
// A worker starts to sum a layer's gradient while it still computes the next one. Each step also
// sums the loss, the packet counts and rank 0's wish to stop, so that all workers stop after the
// same step.

#include "study/demo/demo_training.h"

#include <algorithm>
#include <bit>
#include <chrono>
#include <cmath>
#include <numeric>
#include <span>
#include <utility>

#include "base/prng.h"

namespace infold::demo {
namespace {

constexpr std::size_t kTestImages = 1000;
// Losses are summed as integers in units of 1 / kLossScale, so that their sum is exact.
constexpr double kLossScale = 4294967296.0;

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

// Returns the indices of the images for this step.
std::vector<std::size_t> batch_of(const TrainingOptions& options, std::size_t step) {
  base::Prng prng(base::mix64(options.seed + 3) + step);
  std::vector<std::size_t> batch(options.batch_size);
  for (std::size_t& index : batch) index = prng.below(options.training_images);
  return batch;
}

DigitSet draw_batch(const TrainingOptions& options, std::span<const std::size_t> indices) {
  return draw_digits(base::mix64(options.seed + 1), indices);
}

double accuracy_of(const TrainingOptions& options, DigitModel& model) {
  std::vector<std::size_t> all(kTestImages);
  std::iota(all.begin(), all.end(), std::size_t{0});
  return model.accuracy(draw_digits(base::mix64(options.seed + 2), all));
}

std::uint64_t hash_of(std::span<const float> parameters) {
  std::uint64_t hash = 0;
  for (const float value : parameters) {
    hash = base::mix64(hash * 31 + std::bit_cast<std::uint32_t>(value) + 1);
  }
  return hash;
}

class RankTraining {
 public:
  RankTraining(const TrainingOptions& options, Communicator& communicator,
               const std::function<PacketCounts()>& count, const Progress& progress)
      : options_(options),
        comm_(communicator),
        count_(count),
        progress_(progress),
        model_(options.seed) {}

  TrainingResult run() {
    const Clock::time_point start = Clock::now();
    for (std::size_t step = 0; step < options_.steps; ++step) {
      if (!take_step(step)) break;
    }
    result_.seconds = seconds_since(start);
    if (!result_.error.empty() || result_.stopped) return std::move(result_);
    check_integers();
    share_hashes();
    if (comm_.rank() == 0) result_.accuracy = accuracy_of(options_, model_);
    count_packets();
    return std::move(result_);
  }

 private:
  bool take_step(std::size_t step) {
    const std::vector<std::size_t> batch = batch_of(options_, step);
    const auto world = static_cast<std::size_t>(comm_.world());
    const auto rank = static_cast<std::size_t>(comm_.rank());
    const std::size_t first = batch.size() * rank / world;
    const std::size_t end = batch.size() * (rank + 1) / world;
    const DigitSet images = draw_batch(options_, std::span(batch).subspan(first, end - first));

    std::vector<Handle> sums;
    const double loss =
        model_.accumulate(images, [&](DigitModel::Layer, std::span<float> gradient) {
          sums.push_back(comm_.all_reduce(gradient));
        });
    const PacketCounts own = count_();
    std::int64_t totals[] = {std::llround(loss * kLossScale),
                             wants_to_stop_ ? 1 : 0,
                             own.passed,
                             own.lost,
                             own.resent,
                             own.asked};
    sums.push_back(comm_.all_reduce(totals));
    for (Handle& sum : sums) {
      if (!succeeded(sum.wait())) return false;
    }
    result_.stopped = totals[1] != 0;
    if (result_.stopped) return false;
    model_.step(batch.size(), options_.learning_rate);
    const double mean =
        static_cast<double>(totals[0]) / kLossScale / static_cast<double>(batch.size());
    report({step + 1, mean, {totals[2], totals[3], totals[4], totals[5]}});
    return true;
  }

  bool succeeded(const Result<Completion>& result) {
    if (!result && result_.error.empty()) result_.error = result.error().message;
    return result.has_value();
  }

  void report(const StepReport& report) {
    if (comm_.rank() != 0) return;
    result_.steps.push_back(report);
    if (report.step == options_.hash_step) result_.hash_at_step = hash_of(model_.parameters());
    wants_to_stop_ = !progress_(report);
  }

  // Sums integers of all sizes, so that sums wrap. Plain addition wraps in the same way.
  void check_integers() {
    const auto value = [&](int rank, std::size_t i) {
      return static_cast<std::int32_t>(base::mix64(i * 256 + static_cast<std::size_t>(rank)));
    };
    std::vector<std::int32_t> tensor(DigitModel::parameter_count());
    for (std::size_t i = 0; i < tensor.size(); ++i) tensor[i] = value(comm_.rank(), i);
    if (!succeeded(comm_.all_reduce(tensor).wait())) return;
    std::int64_t wrong[] = {0};
    for (std::size_t i = 0; i < tensor.size(); ++i) {
      std::uint32_t sum = 0;
      for (int rank = 0; rank < comm_.world(); ++rank) {
        sum += static_cast<std::uint32_t>(value(rank, i));
      }
      wrong[0] += static_cast<std::uint32_t>(tensor[i]) != sum;
    }
    if (!succeeded(comm_.all_reduce(wrong).wait())) return;
    result_.wrong_sums = static_cast<std::uint64_t>(wrong[0]);
  }

  void share_hashes() {
    const std::int64_t own[] = {static_cast<std::int64_t>(hash_of(model_.parameters()))};
    std::vector<std::int64_t> all(static_cast<std::size_t>(comm_.world()));
    if (!result_.error.empty() || !succeeded(comm_.all_gather(own, all).wait())) return;
    for (const std::int64_t hash : all) {
      result_.model_hashes.push_back(static_cast<std::uint64_t>(hash));
    }
  }

  void count_packets() {
    const PacketCounts own = count_();
    std::int64_t totals[] = {own.passed, own.lost, own.resent, own.asked};
    if (!result_.error.empty() || !succeeded(comm_.all_reduce(totals).wait())) return;
    result_.packets = {totals[0], totals[1], totals[2], totals[3]};
  }

  const TrainingOptions& options_;
  Communicator& comm_;
  const std::function<PacketCounts()>& count_;
  const Progress& progress_;
  DigitModel model_;
  TrainingResult result_;
  bool wants_to_stop_ = false;
};

}  // namespace

TrainingResult train_alone(const TrainingOptions& options, const Progress& progress) {
  const Clock::time_point start = Clock::now();
  TrainingResult result;
  DigitModel model(options.seed);
  for (std::size_t step = 0; step < options.steps && !result.stopped; ++step) {
    const DigitSet images = draw_batch(options, batch_of(options, step));
    const double loss = model.accumulate(images, [](DigitModel::Layer, std::span<float>) {});
    model.step(options.batch_size, options.learning_rate);
    result.steps.push_back({step + 1, loss / static_cast<double>(options.batch_size), {}});
    result.stopped = !progress(result.steps.back());
  }
  result.seconds = seconds_since(start);
  if (!result.stopped) result.accuracy = accuracy_of(options, model);
  return result;
}

TrainingResult train_as_rank(const TrainingOptions& options, Communicator& communicator,
                             const std::function<PacketCounts()>& count, const Progress& progress) {
  return RankTraining(options, communicator, count, progress).run();
}

}  // namespace infold::demo
