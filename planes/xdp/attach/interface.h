// SPDX-License-Identifier: Apache-2.0
//
// Network interfaces of this host, as the kernel describes them. Read only.
#pragma once

#include <cstdint>
#include <string>

#include "base/attempt.h"

namespace infold::xdp {

// The largest MTU whose frames fit into a page together with the driver's head and tail room. Some
// drivers need that for native mode.
inline constexpr std::uint32_t kNativeMtuSure = 3498;

struct Interface {
  std::string name;
  unsigned index = 0;
  std::uint32_t mtu = 0;
  std::string driver;  // empty if the kernel does not say

  // A veth pair ends in another interface of the same machine.
  bool is_veth() const { return driver == "veth"; }
};

base::Attempt<Interface> find_interface(const std::string& name);

// An interface that was removed, or moved to another namespace, does not come back. If an interface
// of the same name appears, it is a different one.
enum class LinkState : std::uint8_t { up, down, gone };
LinkState state_of(const Interface& interface);

}  // namespace infold::xdp
