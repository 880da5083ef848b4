// SPDX-License-Identifier: Apache-2.0
//
// Messages from rank to rank, by the delegate. It ends the process of a rank that is sent more than
// it has room for, and says to nobody when it was less. So a message travels in pieces, none of
// them longer than the room that there is for each, and the first begins with what the message is;
// the receiver's answer says what it expects, so that both ends know when they disagree.
//
// A delegate pairs messages by ranks, tag and order; so does this. Any thread may call any method.
#pragma once

#include <memory>
#include <string>

#include <ATen/ATen.h>
#include <torch/csrc/distributed/c10d/Backend.hpp>
#include <torch/csrc/distributed/c10d/Work.hpp>

#include "python/backend/delegate/watch.h"

namespace infold::pytorch {

// Of the delegate, which no message has.
inline constexpr int kTagOfNobody = 3;

// Whom a message goes to or comes from, -1 for anybody.
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

  // Of contiguous tensors of the host. Both ends fail if the receiver expects another size or type;
  // the group goes on.
  Works send(const at::Tensor& tensor, Correspondent to);
  Works receive(const at::Tensor& tensor, Correspondent from);

 private:
  const std::shared_ptr<Post> post_;
};

}  // namespace infold::pytorch
