// SPDX-License-Identifier: Apache-2.0
//
// The calls of `infold verify`: the values that each rank passes, and the bits that each rank must
// get. A seed determines all of this, so every rank knows the values of all others. The expected
// bits come from the simulator's oracle, which shares no code with the verified engine. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <infold/options.h>
#include <infold/tensor.h>

#include "core/site_record.h"

namespace infold::measure {

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

// The kind of numbers. Integers, and elements that are only copied, consist of random bits.
enum class Values : std::uint8_t {
  plain,    // between -1 and 1
  wide,     // neighbouring elements have exponents far apart
  apart,    // ranks have exponents so far apart that blocks need a second round
  special,  // plain numbers with some NaN, infinities, both zeros and the smallest numbers
};

struct VerifyCase {
  Collective collective = Collective::barrier;
  DataType type = DataType::f32;
  Reduction reduction = Reduction::sum;
  WireFormat wire = WireFormat::automatic;
  std::uint64_t elements = 0;  // in one part, if a tensor has a part for each rank
  int root = 0;
  Values values = Values::plain;
  bool in_place = false;
  bool is_sparse = false;  // most elements are zeros, which packets leave out
  std::uint64_t seed = 0;
};

struct BatteryOptions {
  std::vector<std::uint64_t> elements;
  std::uint64_t seed = 1;
  int world = 1;
  bool native = false;     // include this format by name, although not every switch sums it for
                           // every job
  bool only_adds = false;  // only what a pipeline that can only add can sum
  core::ReductionSet reductions = core::ReductionSet::all();
};

// Returns whether the case is a sum or an average of floats, whose wire format can be chosen.
bool sums_floats(const VerifyCase& each);

// Returns every valid combination of collective, type, operation and wire format, at every size.
// The last cases are the sums that can leave out zeros.
std::vector<VerifyCase> battery(const BatteryOptions& options);

// Returns, for instance, "sum of 353 f32 as bfp16, wide values, from rank 1".
std::string describe(const VerifyCase& each);

// Returns the whole tensor that `rank` passes, with all its parts.
std::vector<std::byte> input_of(const VerifyCase& each, int rank, int world);
// Returns what `rank` must get, or nothing if it gets no tensor.
std::optional<std::vector<std::byte>> expected_of(const VerifyCase& each, int rank, int world);

// Returns the first element of `got` whose bits differ from `wanted`.
std::optional<std::uint64_t> first_wrong(DataType type, const std::vector<std::byte>& got,
                                         const std::vector<std::byte>& wanted);

}  // namespace infold::measure
