// SPDX-License-Identifier: Apache-2.0
//
// The ranks of a job in one thread: makes the legs of their compressors by plain sums. For tests,
// and for measuring errors without a network.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include <infold/compressor.h>

namespace infold::codec {

class RoundTable {
 public:
  using Compressors = std::vector<std::unique_ptr<Compressor>>;

  explicit RoundTable(Compressors ranks) : ranks_(std::move(ranks)) {}

  // Makes a step of all ranks up to, and without, commit(). Element i of `tensors` is rank i's. The
  // turn's rank and world are set here. False: an answer was not sound.
  bool meet(std::span<const std::vector<float>> tensors, Turn turn);
  void commit();

  // What a rank writes after a sound step.
  std::vector<float> mean_of(std::size_t rank);
  std::vector<float> sent_by(std::size_t rank) const;
  // All legs of the last step, of the rank that sent most.
  std::size_t bytes_sent() const { return bytes_sent_; }
  // All legs of the last step, of one rank. Gathered bytes of other ranks, and results.
  std::size_t bytes_received() const { return bytes_received_; }
  std::span<const std::unique_ptr<Compressor>> ranks() const { return ranks_; }

 private:
  bool answer(std::vector<Leg>& legs);
  void reduce(std::span<const Leg> legs);
  bool pass_on(std::vector<Leg>& legs, const Answer& answer);

  Compressors ranks_;
  std::size_t elements_ = 0;
  std::size_t bytes_sent_ = 0;
  std::size_t bytes_received_ = 0;
  // Of the answer; more than one may have to stay.
  std::vector<std::vector<std::byte>> reduced_;
  std::vector<std::vector<std::byte>> gathered_;
  std::vector<std::span<const std::byte>> parts_;  // of gathered_
};

}  // namespace infold::codec
