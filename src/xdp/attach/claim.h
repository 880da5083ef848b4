// SPDX-License-Identifier: Apache-2.0
//
// Permits one switch at an interface, whatever is attached to the interface. A claim is a name in
// the abstract namespace of the interface's network namespace. The kernel frees it when the process
// ends.
#pragma once

#include "base/attempt.h"
#include "xdp/attach/interface.h"

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
