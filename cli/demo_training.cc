// SPDX-License-Identifier: Apache-2.0
//
// A worker is a thread with its own model and its own communicator. It starts to sum a layer's
// gradient while it still computes the next one's, and agrees with the others whether to go on.

#include "cli/demo_training.h"

#include <algorithm>
#include <bit>
#include <chrono>
#include <cmath>
#include <mutex>
#include <thread>

#include "base/prng.h"

namespace infold::cli {
namespace {

constexpr std::size_t kTestImages = 1000;
// Losses are summed as integers of this fraction, so that their sum is exact.
constexpr double kLossScale = 4294967296.0;

struct Data {
  explicit Data(const TrainingOptions& options)
      : training(draw_digits(base::mix64(options.seed + 1), options.training_images)),
        test(draw_digits(base::mix64(options.seed + 2), kTestImages)) {}
  DigitSet training;
  DigitSet test;
};

std::vector<std::size_t> batch_of(const TrainingOptions& options, std::size_t step) {
  base::Prng prng(base::mix64(options.seed + 3) + step);
  std::vector<std::size_t> batch(options.batch_size);
  for (std::size_t& index : batch) index = prng.below(options.training_images);
  return batch;
}

std::uint64_t hash_of(std::span<const float> parameters) {
  std::uint64_t hash = 0;
  for (const float value : parameters) {
    hash = base::mix64(hash * 31 + std::bit_cast<std::uint32_t>(value) + 1);
  }
  return hash;
}

class Stopwatch {
 public:
  double seconds() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
  }

 private:
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

// What the workers of one training share. Rank 0 alone writes the report of each step.
struct Shared {
  const TrainingOptions& options;
  const Data& data;
  LocalGroup& group;
  const Progress& progress;
  TrainingResult& result;
  std::mutex mutex;  // of result.error and result.parameter_hashes
};

class TrainingWorker {
 public:
  TrainingWorker(Shared& shared, int rank)
      : shared_(shared), rank_(rank), comm_(shared.group[rank]), model_(shared.options.seed) {}

  void run() {
    for (std::size_t step = 0; step < shared_.options.steps; ++step) {
      if (!take_step(step)) break;
    }
    const std::lock_guard lock(shared_.mutex);
    shared_.result.parameter_hashes[static_cast<std::size_t>(rank_)] = hash_of(model_.parameters());
    if (rank_ == 0) shared_.result.accuracy = model_.accuracy(shared_.data.test);
  }

 private:
  bool take_step(std::size_t step) {
    const std::vector<std::size_t> batch = batch_of(shared_.options, step);
    const auto world = static_cast<std::size_t>(comm_.world());
    const auto rank = static_cast<std::size_t>(rank_);
    const std::size_t first = batch.size() * rank / world;
    const std::size_t end = batch.size() * (rank + 1) / world;

    std::vector<Handle> sums;
    const double loss =
        model_.accumulate(shared_.data.training, std::span(batch).subspan(first, end - first),
                          [&](DigitModel::Layer, std::span<float> gradient) {
                            sums.push_back(comm_.all_reduce(gradient));
                          });
    std::int64_t totals[] = {std::llround(loss * kLossScale), stops_ ? 1 : 0};
    sums.push_back(comm_.all_reduce(totals));
    for (Handle& sum : sums) {
      if (!succeeded(sum.wait())) return false;
    }
    if (totals[1] != 0) return false;
    model_.step(batch.size(), shared_.options.learning_rate);
    if (rank_ == 0) {
      report(step + 1,
             static_cast<double>(totals[0]) / kLossScale / static_cast<double>(batch.size()));
    }
    return true;
  }

  bool succeeded(const Result<Completion>& result) {
    if (result) return true;
    const std::lock_guard lock(shared_.mutex);
    if (shared_.result.error.empty()) shared_.result.error = result.error().message;
    return false;
  }

  // A wish to stop travels with the next step's sums, so that all workers stop after the same one.
  void report(std::size_t step, double loss) {
    StepReport report{step, loss, shared_.group.network().lost, 0};
    for (int rank = 0; rank < comm_.world(); ++rank) {
      report.packets_resent += shared_.group[rank].statistics().packets_resent;
    }
    shared_.result.steps.push_back(report);
    if (step == shared_.options.hash_step) {
      shared_.result.hash_at_step = hash_of(model_.parameters());
    }
    stops_ = !shared_.progress(report);
    shared_.result.stopped = stops_;
  }

  Shared& shared_;
  int rank_;
  Communicator& comm_;
  DigitModel model_;
  bool stops_ = false;
};

}  // namespace

TrainingResult train_alone(const TrainingOptions& options, const Progress& progress) {
  const Data data(options);
  const Stopwatch stopwatch;
  TrainingResult result;
  DigitModel model(options.seed);
  for (std::size_t step = 0; step < options.steps && !result.stopped; ++step) {
    const double loss = model.accumulate(data.training, batch_of(options, step),
                                         [](DigitModel::Layer, std::span<float>) {});
    model.step(options.batch_size, options.learning_rate);
    result.steps.push_back({step + 1, loss / static_cast<double>(options.batch_size), 0, 0});
    result.stopped = !progress(result.steps.back());
  }
  result.seconds = stopwatch.seconds();
  result.accuracy = model.accuracy(data.test);
  return result;
}

TrainingResult train_together(const TrainingOptions& options, const Progress& progress) {
  const Data data(options);
  TrainingResult result;
  Result<LocalGroup> group = LocalGroup::create(options.group);
  if (!group) {
    result.error = group.error().message;
    return result;
  }
  result.parameter_hashes.resize(static_cast<std::size_t>(group->world()));
  const Stopwatch stopwatch;
  Shared shared{options, data, *group, progress, result, {}};
  std::vector<std::thread> others;
  for (int rank = 1; rank < group->world(); ++rank) {
    others.emplace_back([&shared, rank] { TrainingWorker(shared, rank).run(); });
  }
  TrainingWorker(shared, 0).run();
  for (std::thread& thread : others) thread.join();
  result.seconds = stopwatch.seconds();
  result.network = group->network();
  for (int rank = 0; rank < group->world(); ++rank) {
    const Statistics statistics = (*group)[rank].statistics();
    result.packets_resent += statistics.packets_resent;
    result.packets_asked += statistics.packets_asked;
  }
  return result;
}

std::string check_integer_sum(const LocalGroupOptions& options, std::size_t elements) {
  Result<LocalGroup> group = LocalGroup::create(options);
  if (!group) return group.error().message;
  const auto value = [&](int rank, std::size_t i) {
    return static_cast<std::int32_t>(base::mix64(i * 256 + static_cast<std::size_t>(rank)));
  };
  std::mutex mutex;
  std::string error;
  const auto sum_on = [&](int rank) {
    std::vector<std::int32_t> tensor(elements);
    for (std::size_t i = 0; i < elements; ++i) tensor[i] = value(rank, i);
    const Result<Completion> result = (*group)[rank].all_reduce(tensor).wait();
    std::string problem = result ? std::string() : result.error().message;
    for (std::size_t i = 0; i < elements && problem.empty(); ++i) {
      std::uint32_t sum = 0;
      for (int each = 0; each < options.world; ++each) {
        sum += static_cast<std::uint32_t>(value(each, i));
      }
      if (static_cast<std::uint32_t>(tensor[i]) != sum) {
        problem = "element " + std::to_string(i) + " differs at rank " + std::to_string(rank);
      }
    }
    const std::lock_guard lock(mutex);
    if (error.empty()) error = problem;
  };
  std::vector<std::thread> threads;
  for (int rank = 0; rank < options.world; ++rank) threads.emplace_back(sum_on, rank);
  for (std::thread& thread : threads) thread.join();
  return error;
}

}  // namespace infold::cli
