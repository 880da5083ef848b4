// SPDX-License-Identifier: Apache-2.0
//
// Allows only one switch at an interface, whatever is attached to it. A claim is a name in the
// abstract namespace of the interface's network namespace. The kernel frees the name when the
// process ends.
#pragma once

#include "base/attempt.h"
#include "planes/xdp/attach/interface.h"

namespace infold::xdp {

class Claim {
 public:
  // The error names the process that has the claim.
  static base::Attempt<Claim> take(const Interface& interface);
  Claim(Claim&& other) noexcept : socket_(std::exchange(other.socket_, -1)) {}
  Claim& operator=(Claim&&) = delete;
  ~Claim();

 private:
  explicit Claim(int socket) : socket_(socket) {}
  int socket_;
};

}  // namespace infold::xdp
