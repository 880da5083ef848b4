// SPDX-License-Identifier: Apache-2.0

#include "bench/rivals/rival.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <sys/resource.h>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace infold::rivals {
namespace {

// Together with the checked sum, this is enough for connections and windows to grow.
constexpr unsigned kWarmups = 1;

// The values are small whole numbers, so that a sum is exact in any order.
float value_at(std::size_t element, int rank) {
  return static_cast<float>((element * 7 + static_cast<std::size_t>(rank) * 13) % 64);
}

double processor_seconds() {
  rusage usage = {};
  getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6;
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

// Returns the nearest rank, and reorders the samples.
double percentile(std::vector<double>& samples, double share) {
  const auto rank = std::ceil(share * static_cast<double>(samples.size()));
  const auto index = static_cast<std::ptrdiff_t>(std::max(rank, 1.0)) - 1;
  std::nth_element(samples.begin(), samples.begin() + index, samples.end());
  return samples[static_cast<std::size_t>(index)];
}

class Tensors {
 public:
  Tensors(const Options& options, std::size_t elements, Memory memory)
      : options_(options),
        zeros_(options.zeros, elements),
        input_(elements),
        apart_(memory == Memory::apart ? elements : 0) {
    for (std::size_t i = 0; i < elements; ++i) input_[i] = value(i, options.rank);
  }

  std::span<float> output() { return apart_.empty() ? input_ : apart_; }
  void sum(const Reduce& reduce) { reduce(input_, output()); }
  bool are_right() {
    const std::span<const float> sums = output();
    for (std::size_t i = 0; i < sums.size(); ++i) {
      float expected = 0;
      for (int rank = 0; rank < options_.world; ++rank) expected += value(i, rank);
      if (sums[i] != expected) return false;
    }
    return true;
  }
  // After many sums in place, numbers other than zeros would grow to infinity.
  void prepare_for_many() {
    if (apart_.empty()) std::fill(input_.begin(), input_.end(), 0.0F);
  }
  // Call this after many sums.
  bool are_still_right() { return apart_.empty() || are_right(); }

 private:
  float value(std::size_t element, int rank) const {
    return zeros_.cover(element, rank) ? 0.0F : value_at(element, rank);
  }

  const Options& options_;
  measure::Zeros zeros_;
  std::vector<float> input_;
  std::vector<float> apart_;
};

bool measure_size(const Options& options, const std::string& name, std::size_t bytes, Memory memory,
                  const Prepare& prepare) {
  Tensors tensors(options, bytes / sizeof(float), memory);
  const Reduce reduce = prepare(tensors.output());
  tensors.sum(reduce);
  bool exact = tensors.are_right();
  tensors.prepare_for_many();
  for (unsigned i = 0; i < kWarmups; ++i) tensors.sum(reduce);

  // There is no barrier between the sums, because a sum cannot end before all ranks have begun it.
  std::vector<double> samples;
  const double processor_before = processor_seconds();
  for (unsigned i = 0; i < options.iterations; ++i) {
    const auto start = std::chrono::steady_clock::now();
    tensors.sum(reduce);
    const std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - start;
    samples.push_back(took.count());
  }
  const double processor = processor_seconds() - processor_before;
  exact = exact && tensors.are_still_right();
  const double median_ms = percentile(samples, 0.5);
  const double tensor_gb = static_cast<double>(bytes) * options.iterations / 1e9;
  const nlohmann::ordered_json object = {
      {"impl", name},
      {"world", options.world},
      {"bytes", bytes},
      {"dtype", "f32"},
      {"wire", "f32"},
      {"zeros", options.zeros.share},
      {"iterations", options.iterations},
      {"median_ms", median_ms},
      {"p99_ms", percentile(samples, 0.99)},
      {"goodput_mbps", static_cast<double>(bytes) * 8 / median_ms / 1e3},
      {"cpu_s_per_gb", processor / tensor_gb},
      {"retransmits", 0},
      {"check", exact ? "ok" : "wrong"}};
  if (options.rank == 0) {
    fmt::print("{}\n", object.dump());
    std::fflush(stdout);
  }
  if (!exact) fmt::print(stderr, "{}: wrong sum at rank {}\n", name, options.rank);
  return exact;
}

}  // namespace

int parse(const Program& program, int argc, const char* const* argv, Options& options) {
  CLI::App app("One rank of a benchmark that infold is compared with", program.name);
  app.add_option("--bytes", options.bytes, "Sizes of tensors, with commas between")
      ->delimiter(',')
      ->check(CLI::Range(std::size_t{4}, std::size_t{1} << 32));
  app.add_option("--iterations", options.iterations, "Sums measured for each size")
      ->check(CLI::Range(1U, 1'000'000U));
  std::string dtype = "f32";
  app.add_option("--dtype", dtype, "Type of the elements")->check(CLI::IsMember({"f32"}));
  app.add_option("--zeros", options.zeros.share, "Share of zeros, in other rows at each rank")
      ->check(CLI::Range(0.0, 1.0));
  app.add_flag("--zeros-at-end", options.zeros.at_end, "At the end of all tensors, instead");
  app.add_option("--block", options.block, "Elements that are left out together, where any are")
      ->check(CLI::Range(std::size_t{1}, std::size_t{1} << 20));
  bool json = true;
  app.add_flag("--json", json, "Accepted; there is no other output");
  if (!program.algorithms.empty()) {
    options.algorithm = program.algorithms.front();
    app.add_option("--algorithm", options.algorithm,
                   "How to sum, " + options.algorithm + " if not given")
        ->check(CLI::IsMember(program.algorithms));
  }
  if (!program.launched) {
    app.add_option("--rank", options.rank, "This rank")->required();
    app.add_option("--ranks", options.world, "How many ranks")->required();
    app.add_option("--store", options.store, "A folder that all ranks share, empty")->required();
    app.add_option("--address", options.address, "Of this rank's network interface")->required();
  }
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  }
  return -1;
}

bool measure(const Options& options, const std::string& name, Memory memory,
             const Prepare& prepare) {
  bool exact = true;
  for (const std::size_t bytes : options.bytes) {
    exact = measure_size(options, name, bytes, memory, prepare) && exact;
  }
  return exact;
}

}  // namespace infold::rivals
