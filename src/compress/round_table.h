// SPDX-License-Identifier: Apache-2.0
//
// Runs the ranks of a job in one thread and answers the legs of their compressors with plain sums.
// It serves tests, and measurements of errors without a network.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include <infold/compressor.h>

namespace infold::compress {

class RoundTable {
 public:
  using Compressors = std::vector<std::unique_ptr<Compressor>>;

  explicit RoundTable(Compressors ranks) : ranks_(std::move(ranks)) {}

  // Makes a step of all ranks, without commit(). Element i of `tensors` belongs to rank i. The
  // turn's rank and world are set here. Returns false if a rank refused an answer.
  bool meet(std::span<const std::vector<float>> tensors, Turn turn);
  void commit();

  // What a rank writes after a step that succeeded.
  std::vector<float> mean_of(std::size_t rank);
  std::vector<float> sent_by(std::size_t rank) const;
  // For each leg of the last step, the bytes of the rank that sent most, added up over all legs.
  std::size_t bytes_sent() const { return bytes_sent_; }
  // The bytes that one rank received in all legs of the last step: results, and gathered bytes of
  // other ranks.
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
  // The memory of answers. Compressors may still read several of them.
  std::vector<std::vector<std::byte>> reduced_;
  std::vector<std::vector<std::byte>> gathered_;
  std::vector<std::span<const std::byte>> parts_;  // views of gathered_
};

}  // namespace infold::compress
