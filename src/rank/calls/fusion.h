// SPDX-License-Identifier: Apache-2.0
//
// Places several tensors side by side in one staging buffer. Small tensors form one fused tensor
// there. Each starts on a new block, so that its result has the same bits as if it were summed
// alone. Results of large tensors may be kept behind the fused tensor, so that a failed call leaves
// those tensors unchanged. Borrows the tensors. Not thread-safe.
#pragma once

#include <cstddef>
#include <vector>

#include <infold/tensor.h>

namespace infold::rank {

class Fusion {
 public:
  // Tensors with more elements fill a packet of their own at any MTU.
  static constexpr std::size_t kElementsMax = 2048;

  void clear();
  // Adds a tensor to the fused one. Requires: stage() has not been called since clear().
  void fuse(const MutableTensorView& tensor, std::size_t block_elements);
  // Stages only the tensor's result; returns its place in the buffer.
  std::size_t stage(const MutableTensorView& tensor);

  std::size_t fused_elements() const { return fused_elements_; }
  std::size_t bytes() const { return bytes_; }

  // Writes the fused tensor, with zeros between its tensors.
  void gather(std::byte* staging) const;
  // Copies each result to its tensor.
  void scatter(const std::byte* staging) const;

 private:
  struct Piece {
    void* tensor;
    std::size_t bytes;
    std::size_t at;
  };

  std::vector<Piece> pieces_;  // keeps its memory from call to call
  std::size_t fused_ = 0;      // how many pieces are fused
  std::size_t fused_elements_ = 0;
  std::size_t bytes_ = 0;
};

}  // namespace infold::rank
