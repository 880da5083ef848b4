// SPDX-License-Identifier: Apache-2.0
//
// The calls of `infold verify`: the values that each rank passes, and the bits that each rank must
// get. A seed decides all of it, so every rank knows the values of all others. The expected bits
// come from the simulator's oracle, which shares no code with the verified engine. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <infold/options.h>
#include <infold/tensor.h>

#include "core/site_record.h"

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
inline constexpr Reduction kReductions[] = {Reduction::sum, Reduction::average, Reduction::min,
                                            Reduction::max, Reduction::bit_or};

// The kind of numbers. Integers, and elements that are only copied, have all bits random.
enum class Values : std::uint8_t {
  plain,    // between -1 and 1
  wide,     // neighbours have exponents far apart
  apart,    // ranks have exponents so far apart that blocks need a second round
  special,  // NaN, infinities, both zeros and the smallest numbers, among plain ones
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
  bool is_sparse = false;  // most elements are zeros, and packets leave them out
  std::uint64_t seed = 0;
};

struct BatteryOptions {
  std::vector<std::uint64_t> elements;
  std::uint64_t seed = 1;
  int world = 1;
  bool native = false;     // by this name, too, which not every switch sums for every job
  bool only_adds = false;  // what a pipeline that adds sums
  core::ReductionSet reductions = core::ReductionSet::all();
};

// Whether the case is a sum or an average of floats, whose wire format can be chosen.
bool sums_floats(const VerifyCase& each);

// Every collective with every type, operation and wire format that go together, at every size. The
// last cases are the sums that can leave out zeros.
std::vector<VerifyCase> battery(const BatteryOptions& options);

// "sum of 353 f32 as bfp16, wide values, from rank 1"
std::string describe(const VerifyCase& each);

// Returns the whole tensor that `rank` passes, with all its parts.
std::vector<std::byte> input_of(const VerifyCase& each, int rank, int world);
// Returns what `rank` must get; empty if it gets nothing.
std::optional<std::vector<std::byte>> expected_of(const VerifyCase& each, int rank, int world);

// Returns the first element of `got` whose bits differ from those of `wanted`.
std::optional<std::uint64_t> first_wrong(DataType type, const std::vector<std::byte>& got,
                                         const std::vector<std::byte>& wanted);

}  // namespace infold::lab
