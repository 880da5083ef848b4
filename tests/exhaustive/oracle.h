// SPDX-License-Identifier: Apache-2.0
//
// The inputs of every worker, and the right sums. A worker's share of an element is a power of 16
// times a digit that names the chunk. Therefore a wrong sum in hexadecimal shows which worker was
// counted how often, and from which chunk.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "core/worker/worker.h"
#include "tests/exhaustive/model_case.h"

namespace infold::exhaustive {

class Oracle {
 public:
  explicit Oracle(const Case& model_case);

  std::uint32_t tensor_count() const { return static_cast<std::uint32_t>(tensors_.size()); }
  // The number of chunks of all tensors together.
  std::uint32_t chunk_count() const { return chunk_count_; }

  // Returns the tensor of worker `rank`. Results go to one scratch tensor that all workers share,
  // because results are checked as they arrive.
  core::TransferRequest request(std::uint32_t tensor, std::uint16_t rank);

  // The chunks that a worker must have received when all its transfers are complete.
  std::uint64_t chunks_due(std::uint16_t rank) const;

  // Marks the scratch tensors as untouched.
  void erase_outputs();
  // The chunks written since then, as a bit set. `complaint` names a wrong chunk.
  std::uint64_t written_chunks(std::uint16_t rank, std::string& complaint) const;

 private:
  struct Numbers {
    Tensor plan;
    std::uint32_t first_chunk = 0;
    std::vector<std::vector<std::uint32_t>> inputs;   // by rank: 32-bit integers, or floats' bits
    std::vector<std::vector<std::uint32_t>> present;  // by rank: a bit for each block
    std::vector<std::uint32_t> sums;
    std::vector<std::uint32_t> output;
  };

  void fill(Numbers& numbers, std::uint16_t workers, std::uint32_t digit_first) const;

  std::vector<Numbers> tensors_;
  std::uint32_t chunk_count_ = 0;
};

}  // namespace infold::exhaustive
