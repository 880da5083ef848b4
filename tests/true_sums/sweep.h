// SPDX-License-Identifier: Apache-2.0
//
// Sums drawn and adversarial floats of every type in three ways: at one aggregator, in a tree, and
// by digits over aggregators that only add integers. All must give the same bits, and these must be
// the exact sum or mean, rounded once.
#pragma once

#include <cstdint>
#include <string>

namespace infold::true_sums {

struct SweepOptions {
  std::uint64_t elements = 0;  // at least this many, each summed in all three ways
  std::uint64_t seed = 1;
  void (*progress)(std::uint64_t elements) = nullptr;  // now and then
};

struct SweepReport {
  std::uint64_t elements = 0;
  std::uint64_t chunks = 0;
  std::uint64_t repaired = 0;  // sums that needed a second double at the one aggregator
  std::uint64_t binned = 0;    // sums that needed bins
  std::string wrong;           // what is wrong, with the seed; empty: nothing
};

SweepReport sweep(const SweepOptions& options);

// How often sums of eight ranks need more than one double, for numbers like those of gradients.
struct Rates {
  std::uint64_t chunks = 0;
  std::uint64_t repaired = 0;
  std::uint64_t binned = 0;
};
// The numbers are f32, 352 in a chunk: normal numbers, or normal numbers times e^(2 x other normal
// numbers).
Rates rates_of_normal(std::uint64_t chunks, std::uint64_t seed);
Rates rates_of_heavy_tails(std::uint64_t chunks, std::uint64_t seed);

}  // namespace infold::true_sums
