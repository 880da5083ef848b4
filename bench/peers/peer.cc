// SPDX-License-Identifier: Apache-2.0

#include "bench/peers/peer.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <sys/resource.h>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace infold::peers {
namespace {

// With the sum that is checked, enough for connections and windows to have grown.
constexpr unsigned kWarmups = 1;

// Small whole numbers, so that a sum is exact in any order.
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

// Nearest rank; reorders the samples.
double percentile(std::vector<double>& samples, double share) {
  const auto rank = std::ceil(share * static_cast<double>(samples.size()));
  const auto index = static_cast<std::ptrdiff_t>(std::max(rank, 1.0)) - 1;
  std::nth_element(samples.begin(), samples.begin() + index, samples.end());
  return samples[static_cast<std::size_t>(index)];
}

bool sums_up(const Options& options, std::span<float> tensor, const Reduce& reduce) {
  for (std::size_t i = 0; i < tensor.size(); ++i) tensor[i] = value_at(i, options.rank);
  reduce(tensor);
  for (std::size_t i = 0; i < tensor.size(); ++i) {
    float expected = 0;
    for (int rank = 0; rank < options.world; ++rank) expected += value_at(i, rank);
    if (tensor[i] != expected) return false;
  }
  return true;
}

bool measure_size(const Options& options, const std::string& name, std::size_t bytes,
                  const Prepare& prepare) {
  std::vector<float> storage(bytes / sizeof(float));
  const std::span<float> tensor(storage);
  const Reduce reduce = prepare(tensor);
  const bool exact = sums_up(options, tensor, reduce);
  // Summed in place again and again, anything but zeros would grow to infinity.
  std::fill(tensor.begin(), tensor.end(), 0.0F);
  for (unsigned i = 0; i < kWarmups; ++i) reduce(tensor);

  // No barrier between: a sum ends nowhere before it began everywhere.
  std::vector<double> samples;
  const double processor_before = processor_seconds();
  for (unsigned i = 0; i < options.iterations; ++i) {
    const auto start = std::chrono::steady_clock::now();
    reduce(tensor);
    const std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - start;
    samples.push_back(took.count());
  }
  const double processor = processor_seconds() - processor_before;
  const double median_ms = percentile(samples, 0.5);
  const double tensor_gb = static_cast<double>(bytes) * options.iterations / 1e9;
  const nlohmann::ordered_json object = {
      {"impl", name},
      {"world", options.world},
      {"bytes", bytes},
      {"dtype", "f32"},
      {"wire", "f32"},
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
    app.add_option("--world", options.world, "How many ranks")->required();
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

bool measure(const Options& options, const std::string& name, const Prepare& prepare) {
  bool exact = true;
  for (const std::size_t bytes : options.bytes) {
    exact = measure_size(options, name, bytes, prepare) && exact;
  }
  return exact;
}

}  // namespace infold::peers
