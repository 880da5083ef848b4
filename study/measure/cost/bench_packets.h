// SPDX-License-Identifier: Apache-2.0
//
// Full packets for an MTU of 1500, as ranks send them. Benchmarks measure what a machine needs to
// handle one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "core/format.h"
#include "core/packet/packet.h"
#include "core/tensor_codec.h"
#include "plan/plan.h"

namespace infold::measure {

inline constexpr std::uint32_t kBenchDatagramBytes = 1472;
inline constexpr std::uint32_t kBenchEpoch = 1;

struct BenchWire {
  const char* name;
  core::ElementLayout layout;
};
std::span<const BenchWire> bench_wires();

// Returns a plan with one site and this many slots, all for small tensors.
plan::Plan bench_plan(std::uint16_t world, std::uint16_t slots);

enum class BenchValues {
  usual,    // within a few octaves, so that exponents differ between workers
  hostile,  // numbers of three sizes so far apart that two doubles cannot hold their exact sum
};

const core::TensorCodec& bench_codec(core::ElementLayout layout);
std::vector<std::byte> make_bench_tensor(core::ElementLayout layout, std::size_t elements,
                                         std::uint64_t seed,
                                         BenchValues values = BenchValues::usual);
// Makes a rank's contribution with one full chunk to round 0 of slot 0.
std::vector<std::byte> make_bench_contribution(core::ElementLayout layout, std::uint16_t rank,
                                               BenchValues values = BenchValues::usual);

}  // namespace infold::measure
