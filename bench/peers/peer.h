// SPDX-License-Identifier: Apache-2.0
//
// What the programs that infold is compared with have in common: options, a measured loop of sums
// over all ranks, and the JSON object that `infold bench allreduce` prints too. Each peer brings
// one function, which adds up a tensor. One thread calls all of this.
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
  std::string store;    // a folder that all ranks share, in which they find each other
  std::string address;  // of this rank's network interface
  lab::ZerosOptions zeros;
  std::size_t block = lab::kRowElements;  // elements that algorithms without zeros keep together
};

struct Program {
  std::string name;                     // as typed
  std::vector<std::string> algorithms;  // the first is the default; empty where there is no choice
  bool launched = false;                // a launcher tells rank and world, and how to connect
};

// Returns the process's exit code where it should end at once (--help, bad usage), else -1.
int parse(const Program& program, int argc, const char* const* argv, Options& options);

// Adds up a tensor over all ranks; the two are the same memory, or do not overlap.
using Reduce = std::function<void(std::span<const float> input, std::span<float> output)>;
// Called once for each size, before anything is measured; setup of that size happens in it.
using Prepare = std::function<Reduce(std::span<float> output)>;

// In place, zeros are summed when time is taken, since it does not depend on what is summed.
enum class Memory : std::uint8_t { in_place, apart };

// Measures each size and prints one line for it on rank 0. Returns false if a sum was wrong.
bool measure(const Options& options, const std::string& name, Memory memory,
             const Prepare& prepare);

}  // namespace infold::peers
