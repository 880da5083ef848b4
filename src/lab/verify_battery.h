// SPDX-License-Identifier: Apache-2.0
//
// The calls that `infold verify` makes, with the values that each rank passes and the bits that
// each must get. All of it follows from a seed, so that every rank knows what every other one
// passes. Expected bits come from the simulator's oracle, which shares no code with what is
// verified. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <infold/options.h>
#include <infold/tensor.h>

namespace infold::lab {

enum class Collective : std::uint8_t {
  all_reduce,
  reduce,
  broadcast,
  all_gather,
  reduce_scatter,
  barrier
};
inline constexpr Collective kCollectives[] = {Collective::all_reduce,     Collective::reduce,
                                              Collective::broadcast,      Collective::all_gather,
                                              Collective::reduce_scatter, Collective::barrier};
const char* collective_name(Collective collective);

// What the numbers are like; integers, and what is only copied, have all bits random.
enum class Values : std::uint8_t {
  plain,    // between -1 and 1
  wide,     // exponents of neighbours far apart
  apart,    // exponents of ranks so far apart that blocks need a second round
  special,  // NaN, infinities, both zeros and the smallest numbers among plain ones
};

struct VerifyCase {
  Collective collective = Collective::barrier;
  DataType type = DataType::f32;
  Reduction reduction = Reduction::sum;
  WireFormat wire = WireFormat::automatic;
  std::uint64_t elements = 0;  // of one part, where a tensor has a part for each rank
  int root = 0;
  Values values = Values::plain;
  bool in_place = false;
  bool is_sparse = false;  // mostly zeros, which are left out
  std::uint64_t seed = 0;
};

struct BatteryOptions {
  std::vector<std::uint64_t> elements;
  std::uint64_t seed = 1;
  int world = 1;
};

// Every collective with every type, operation and wire format that go together, at every size; last
// those sums that can leave out zeros.
std::vector<VerifyCase> battery(const BatteryOptions& options);

// "sum of 353 f32 as bfp16, wide values, from rank 1"
std::string describe(const VerifyCase& each);

// What `rank` passes: the whole tensor, of all parts.
std::vector<std::byte> input_of(const VerifyCase& each, int rank, int world);
// What `rank` must get; empty where it gets nothing.
std::optional<std::vector<std::byte>> expected_of(const VerifyCase& each, int rank, int world);

// The first element of `got` whose bits are not those of `wanted`.
std::optional<std::uint64_t> first_wrong(DataType type, const std::vector<std::byte>& got,
                                         const std::vector<std::byte>& wanted);

}  // namespace infold::lab
