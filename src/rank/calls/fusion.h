// SPDX-License-Identifier: Apache-2.0
//
// Several tensors side by side in one staging buffer. Small ones form one tensor there, each on
// blocks of its own, so that its bits are those it has alone; large ones may be kept behind it, so
// that a failed call leaves them as they were. Borrows the tensors. Not thread-safe.
#pragma once

#include <cstddef>
#include <vector>

#include <infold/tensor.h>

namespace infold::rank {

class Fusion {
 public:
  // Larger tensors fill a packet of their own, whatever the MTU.
  static constexpr std::size_t kElementsMax = 2048;

  void clear();
  // Joins the fused tensor. Requires: no stage() since clear().
  void fuse(const MutableTensorView& tensor, std::size_t block_elements);
  // Only its result is staged; returns where in the buffer.
  std::size_t stage(const MutableTensorView& tensor);

  std::size_t fused_elements() const { return fused_elements_; }
  std::size_t bytes() const { return bytes_; }

  // Writes the fused tensor; between tensors stand zeros.
  void gather(std::byte* staging) const;
  // Copies all results to where they belong.
  void scatter(const std::byte* staging) const;

 private:
  struct Piece {
    void* tensor;
    std::size_t bytes;
    std::size_t at;
  };

  std::vector<Piece> pieces_;  // keeps its memory from call to call
  std::size_t fused_ = 0;      // of the pieces
  std::size_t fused_elements_ = 0;
  std::size_t bytes_ = 0;
};

}  // namespace infold::rank
