// SPDX-License-Identifier: Apache-2.0
//
// The common part of the programs that are measured beside infold: options, a measured loop of sums
// over all ranks, and the JSON object of `infold bench allreduce`. Each peer adds one function,
// which sums a tensor. One thread calls all of this.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "lab/compare/zeros.h"

namespace infold::peers {

struct Options {
  int rank = 0;
  int world = 1;
  std::vector<std::size_t> bytes{26214400};
  unsigned iterations = 10;
  std::string algorithm;
  std::string store;    // an empty folder that all ranks share, in which they meet
  std::string address;  // of this rank's network interface
  lab::ZerosOptions zeros;
  std::size_t block = lab::kRowElements;  // elements that algorithms without zeros keep together
};

struct Program {
  std::string name;                     // as typed
  std::vector<std::string> algorithms;  // the first is the default; empty without a choice
  bool launched = false;                // a launcher tells rank and world, and how to connect
};

// Returns the process's exit code if it must end at once (--help, bad usage), else -1.
int parse(const Program& program, int argc, const char* const* argv, Options& options);

// Sums a tensor over all ranks. Input and output are the same memory, or do not overlap.
using Reduce = std::function<void(std::span<const float> input, std::span<float> output)>;
// Called once for each size before the measurement. The setup for the size happens in it.
using Prepare = std::function<Reduce(std::span<float> output)>;

// In place, the timed sums are of zeros. The time does not depend on the values.
enum class Memory : std::uint8_t { in_place, apart };

// Measures each size and prints one line for it on rank 0. Returns false if a sum was wrong.
bool measure(const Options& options, const std::string& name, Memory memory,
             const Prepare& prepare);

}  // namespace infold::peers
