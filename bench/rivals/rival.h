// SPDX-License-Identifier: Apache-2.0
//
// The common part of the programs that infold is compared with: options, a measured loop of sums
// over all ranks, and the JSON object of `infold bench allreduce`. Each rival adds one function,
// which sums a tensor. One thread calls all of this.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "study/measure/compare/zeros.h"

namespace infold::rivals {

struct Options {
  int rank = 0;
  int world = 1;
  std::vector<std::size_t> bytes{26214400};
  unsigned iterations = 10;
  std::string algorithm;
  std::string store;    // an empty folder that all ranks share, where they meet
  std::string address;  // the address of this rank's network interface
  measure::ZerosOptions zeros;
  std::size_t block =
      measure::kRowElements;  // elements that algorithms without zeros keep together
};

struct Program {
  std::string name;                     // as typed
  std::vector<std::string> algorithms;  // the first is the default; empty: there is no choice
  bool launched = false;                // a launcher tells rank and world, and how to connect
};

// Returns the process's exit code if it must end at once (--help, bad usage), else -1.
int parse(const Program& program, int argc, const char* const* argv, Options& options);

// Sums a tensor over all ranks. Input and output are the same memory or do not overlap.
using Reduce = std::function<void(std::span<const float> input, std::span<float> output)>;
// Called once for each size before the measurement. It does the setup for that size.
using Prepare = std::function<Reduce(std::span<float> output)>;

// In place, the timed sums are sums of zeros, because the time does not depend on the values.
enum class Memory : std::uint8_t { in_place, apart };

// Measures each size and prints one line for it on rank 0. Returns false if a sum was wrong.
bool measure(const Options& options, const std::string& name, Memory memory,
             const Prepare& prepare);

}  // namespace infold::rivals
