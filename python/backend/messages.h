// SPDX-License-Identifier: Apache-2.0
//
// Messages from rank to rank, by the delegate. It ends the process of a rank that is sent more than
// it has room for, and does not say when it was less. So a message travels in pieces, none of them
// longer than the room that there is for each, and the first begins with what the message is.
//
// A delegate pairs messages by ranks, tag and order; so does this. Any thread may call any method.
#pragma once

#include <mutex>
#include <utility>

#include <ATen/ATen.h>
#include <torch/csrc/distributed/c10d/Backend.hpp>
#include <torch/csrc/distributed/c10d/Work.hpp>

namespace infold::pytorch {

class Messages {
 public:
  using Works = c10::intrusive_ptr<::c10d::Work>;

  Messages(c10::intrusive_ptr<::c10d::Backend> delegate, int rank)
      : delegate_(std::move(delegate)), rank_(rank) {}

  // Of contiguous tensors of the host. A message that is not what its receiver expects fails there.
  Works send(const at::Tensor& tensor, int to, int tag);
  // `from` may be -1 for anybody.
  Works receive(const at::Tensor& tensor, int from, int tag);

 private:
  const c10::intrusive_ptr<::c10d::Backend> delegate_;
  const int rank_;
  std::mutex order_;  // pieces of two messages must not mix
};

}  // namespace infold::pytorch
