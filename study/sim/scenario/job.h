// SPDX-License-Identifier: Apache-2.0
//
// The data of a scenario's calls: every rank's tensors, the requests for them, and the expected
// results. Owns all tensors, which do not move while it lives.
#pragma once

#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "encoding/digits.h"
#include "study/sim/nodes/worker_node.h"
#include "study/sim/scenario/compressed_call.h"
#include "study/sim/scenario/scenario.h"

namespace infold::sim {

class Job {
 public:
  explicit Job(const Scenario& scenario);

  // Returns the calls of `rank`, including the incident. An agreed call has two entries, and so
  // does a call by digits that first finds ranges. A compressed call has an entry for each leg.
  std::deque<Call> calls_of(std::uint16_t rank) const;

  // The scenario's call that an entry belongs to, and whether the entry only agrees on codes,
  // ranges or what the next leg needs.
  struct Step {
    std::uint32_t call = 0;
    bool agrees = false;
    std::uint32_t leg = 0;  // for a compressed call
  };
  const std::vector<Step>& steps() const { return steps_; }

  // Compares all ranks' results of a finished step with the oracle's. The text names the fault, and
  // is empty if all are right.
  std::string compare(const Step& step) const;
  // Checks that a failed call left its inputs unchanged if results go elsewhere. The text names the
  // fault, and is empty if there is none.
  std::string compare_inputs(const Step& step) const;
  // Returns the number of ranks whose data the step's result contains.
  std::uint16_t ranks_summed(const Step& step) const;
  // Returns what `rank` asks its worker for, without the incident.
  core::TransferRequest request_of(const Step& step, std::uint16_t rank) const;

  // Returns the result bytes that `rank` has of a call, or nothing if it gets no result.
  std::span<const std::byte> result(std::uint32_t call, std::uint16_t rank) const;
  // Returns a hash of the result bytes of all ranks and calls.
  std::uint64_t hash() const;

 private:
  struct Tensors {
    std::vector<std::byte> input;
    std::vector<std::byte> output;
    std::vector<std::uint16_t> own_codes;
    std::vector<std::uint16_t> agreed_codes;
    std::vector<std::uint32_t> present;  // has a bit for each block, set if the block is not zero
    std::unique_ptr<encoding::Digits> digits;
    std::uint64_t integers = 1;   // the number of integers in the digits, once known
    std::vector<std::byte> sums;  // the sums of these integers

    std::uint64_t plan_digits();
  };

  Tensors& tensors(std::uint32_t call, std::uint16_t rank) {
    return tensors_[call * scenario_.plan.world + rank];
  }
  const Tensors& tensors(std::uint32_t call, std::uint16_t rank) const {
    return tensors_[call * scenario_.plan.world + rank];
  }
  bool contributes(const CallPlan& call, std::uint16_t rank) const;
  bool receives(const CallPlan& call, std::uint16_t rank) const;
  std::uint16_t value_rank(const CallPlan& call, std::uint16_t rank) const;
  void add_compressed(std::uint32_t call);
  void fill(std::uint32_t call, std::uint16_t rank);
  core::TransferRequest main_request_of(std::uint32_t call, std::uint16_t rank) const;
  core::TransferRequest first_request_of(std::uint32_t call, std::uint16_t rank) const;
  void apply_incident(std::uint16_t rank, std::deque<Call>& calls) const;
  std::string compare_codes(std::uint32_t call) const;

  const Scenario& scenario_;
  std::vector<Step> steps_;
  std::vector<Tensors> tensors_;                             // empty ones for compressed calls
  std::vector<std::unique_ptr<CompressedCall>> compressed_;  // by call; null: not compressed
};

}  // namespace infold::sim
