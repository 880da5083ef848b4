// SPDX-License-Identifier: Apache-2.0
//
// Messages from rank to rank, carried by the delegate. The delegate ends the receiving process if a
// message is longer than expected, and reports nothing if it is shorter. A message therefore
// travels in pieces of a fixed size. The first piece begins with a header that describes the
// message. The receiver answers with a header that describes what it expects, so that both ends
// learn of a difference.
//
// Messages are paired by ranks, tag and order, as in the delegate. Any thread may call any method.
#pragma once

#include <memory>
#include <string>

#include <ATen/ATen.h>
#include <torch/csrc/distributed/c10d/Backend.hpp>
#include <torch/csrc/distributed/c10d/Work.hpp>

#include "python/backend/delegate/watch.h"

namespace infold::pytorch {

// A tag of the delegate that no message uses.
inline constexpr int kTagOfNobody = 3;

// The rank that a message goes to or comes from; -1 means any rank.
struct Correspondent {
  int rank = -1;
  int tag = 0;

  std::string text() const;
};

class Post;

class Messages {
 public:
  using Works = c10::intrusive_ptr<::c10d::Work>;

  Messages(c10::intrusive_ptr<::c10d::Backend> delegate, std::shared_ptr<Watch> watch, int rank);

  // These take contiguous tensors of the host. If the receiver expects another size or type, both
  // ends fail and the group continues.
  Works send(const at::Tensor& tensor, Correspondent to);
  Works receive(const at::Tensor& tensor, Correspondent from);

 private:
  const std::shared_ptr<Post> post_;
};

}  // namespace infold::pytorch
