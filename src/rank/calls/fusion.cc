// SPDX-License-Identifier: Apache-2.0
//
// Assigns places in the staging buffer and copies tensors.
#include "rank/calls/fusion.h"

#include <cstring>

#include "base/check.h"

namespace infold::rank {

void Fusion::clear() {
  pieces_.clear();
  fused_ = fused_elements_ = bytes_ = 0;
}

void Fusion::fuse(const MutableTensorView& tensor, std::size_t block_elements) {
  CHECK_THAT(fused_, ==, pieces_.size());
  const std::size_t blocks = (tensor.elements + block_elements - 1) / block_elements;
  const std::size_t element = element_bytes(tensor.type);
  pieces_.push_back({tensor.data, tensor.elements * element, fused_elements_ * element});
  ++fused_;
  fused_elements_ += blocks * block_elements;
  bytes_ = fused_elements_ * element;
}

std::size_t Fusion::stage(const MutableTensorView& tensor) {
  const std::size_t at = bytes_;
  pieces_.push_back({tensor.data, tensor.elements * element_bytes(tensor.type), at});
  bytes_ += pieces_.back().bytes;
  return at;
}

void Fusion::gather(std::byte* staging) const {
  std::size_t written = 0;
  for (std::size_t i = 0; i < fused_; ++i) {
    const Piece& piece = pieces_[i];
    std::memset(staging + written, 0, piece.at - written);
    if (piece.bytes > 0) std::memcpy(staging + piece.at, piece.tensor, piece.bytes);
    written = piece.at + piece.bytes;
  }
  const std::size_t end = fused_ < pieces_.size() ? pieces_[fused_].at : bytes_;
  std::memset(staging + written, 0, end - written);
}

void Fusion::scatter(const std::byte* staging) const {
  for (const Piece& piece : pieces_) {
    if (piece.bytes > 0) std::memcpy(piece.tensor, staging + piece.at, piece.bytes);
  }
}

}  // namespace infold::rank
