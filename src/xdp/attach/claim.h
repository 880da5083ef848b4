// SPDX-License-Identifier: Apache-2.0
//
// One switch at an interface, whatever is attached to it: a name without a file, in the interface's
// network namespace, that goes away with its process however that ends.
#pragma once

#include "xdp/attach/attempt.h"
#include "xdp/attach/interface.h"

namespace infold::xdp {

class Claim {
 public:
  // The error names the process that has it.
  static Attempt<Claim> take(const Interface& interface);
  Claim(Claim&& other) noexcept : socket_(std::exchange(other.socket_, -1)) {}
  Claim& operator=(Claim&&) = delete;
  ~Claim();

 private:
  explicit Claim(int socket) : socket_(socket) {}
  int socket_;
};

}  // namespace infold::xdp
