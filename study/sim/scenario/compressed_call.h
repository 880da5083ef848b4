// SPDX-License-Identifier: Apache-2.0
//
// A scenario's compressed mean: each rank's compressor, the legs that travel between them, and
// the expected answers and mean. The oracle answers the legs of a second set of compressors,
// without a network. Each leg is a transfer of a real worker. This object owns all tensors, which
// do not move while it lives.
//
//   request_of(0) done -> end_leg(0) -> begin_leg(1) -> request_of(1) done -> end_leg(1)
//
// Legs of lanes, maxima and floats travel. Legs of gather would be broadcasts, and legs of rows
// would be sparse sums; the drawn calls already include both.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <infold/compressor.h>

#include "core/worker/worker.h"
#include "study/sim/scenario/scenario.h"

namespace infold::sim {

class CompressedCall {
 public:
  // Requires: the call has elements, and its compression has legs that travel (see above) in sizes
  // that do not depend on values. Element i of `value_ranks` is the rank whose data and random
  // numbers rank i uses.
  CompressedCall(const CallPlan& call, const std::vector<std::uint16_t>& value_ranks);

  std::uint32_t leg_count() const { return static_cast<std::uint32_t>(legs_.size()); }
  compress::Travel travel_of(std::uint32_t leg) const { return legs_[leg].travel; }
  std::uint64_t elements_of(std::uint32_t leg) const { return legs_[leg].elements; }
  // The worker writes the answer into this object's memory.
  core::TransferRequest request_of(std::uint32_t leg, std::uint16_t rank);

  // Makes the leg from the answer to the previous one. Returns its elements. The first leg has
  // already begun.
  std::uint64_t begin_leg(std::uint32_t leg, std::uint16_t rank);
  // Call this when the leg's transfer is done at this rank. Takes its answer; after the last leg,
  // writes the mean.
  void end_leg(std::uint32_t leg, std::uint16_t rank);

  // Compares a leg that is done at all ranks. The text names the first fault: in an answer, in what
  // a rank sent or, for the last leg, in a mean. It is empty if there is none.
  std::string compare(std::uint32_t leg) const;
  // Does the same for tensors, and for what ranks sent from separate buffers. A failed call must
  // not have changed either.
  std::string compare_inputs() const;

  std::span<const std::byte> mean_of(std::uint16_t rank) const {
    return std::as_bytes(std::span(ranks_[rank].mean));
  }
  compress::Turn turn_of(std::size_t rank) const;
  // Returns what every rank must have.
  std::span<const float> expected_mean() const { return expected_mean_; }

 private:
  using Compressors = std::vector<std::unique_ptr<compress::Compressor>>;

  // What all ranks know of a leg, and what must travel in it.
  struct ExpectedLeg {
    compress::Travel travel = compress::Travel::lanes;
    std::uint64_t elements = 0;
    std::vector<std::vector<std::byte>> sent;  // for each rank
    std::vector<std::byte> answer;
  };
  // Buffers may have any address, like the tensors of other calls. A compressor gets a copy of the
  // answer, because it reads whole floats.
  struct Buffers {
    std::vector<std::byte> input;
    std::vector<std::byte> output;  // empty if results overwrite the input
    std::vector<std::byte> answer;
    bool is_begun = false;
  };
  struct Rank {
    std::vector<float> tensor;
    std::vector<float> mean;
    std::vector<Buffers> legs;
  };

  Compressors make_compressors() const;
  std::vector<float> tensor_of(std::size_t rank) const;
  void find_expected();
  ExpectedLeg expect(std::span<const compress::Leg> legs) const;
  void begin(std::uint32_t leg, std::size_t rank, const compress::Leg& made);
  std::optional<compress::Leg> next_leg(std::uint32_t leg, std::size_t rank);
  std::string compare_sent(std::uint32_t leg, std::size_t rank) const;

  const CallPlan call_;
  const std::vector<std::uint16_t> value_ranks_;
  std::vector<ExpectedLeg> legs_;
  std::vector<float> expected_mean_;
  std::vector<Rank> ranks_;
  Compressors compressors_;
};

}  // namespace infold::sim
