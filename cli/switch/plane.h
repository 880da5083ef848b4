// SPDX-License-Identifier: Apache-2.0
//
// A plane of `infold switch` besides user space. The planes for the kernel and for P4 devices need
// libraries and compilers of their own, so each program chooses which of them it links. infold
// links both (cli/planes), and infold-demo links neither.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "cli/line/command.h"
#include "cli/line/output.h"
#include "cli/switch/key_options.h"
#include "cli/switch/p4_options.h"
#include "io/address/socket_address.h"

namespace infold::cli {

// The command-line options that such a plane reads.
struct PlaneOptions {
  io::SocketAddress listen;
  io::SocketAddress join_address;
  ParentPlace parent;         // empty: none
  io::SocketAddress metrics;  // unset: none
  std::uint32_t slots = 0;
  std::uint32_t mtu = 0;
  std::uint32_t datagram_bytes_max = 0;  // the size of a datagram in a packet as long as the MTU
  std::vector<std::string> interfaces;   // used by the kernel's plane alone
  bool pin = false;                      // used by the kernel's plane alone
  P4Options p4;                          // used by P4 alone
  const KeyOptions* keys = nullptr;      // how ranks join; outlives the run
};

class Plane {
 public:
  virtual ~Plane() = default;

  // Returns an error if the plane's own options do not go together, else an empty text. The command
  // has already checked the options that several planes share.
  virtual std::string find_misfit(const PlaneOptions&) const { return ""; }
  // Works until a signal stops it. Requires: an InterruptGuard, and options without a misfit.
  virtual ExitCode run(const PlaneOptions& options, Output& output) const = 0;
};

// A plane that is null is missing from the program, which refuses options that ask for it.
struct Planes {
  std::unique_ptr<Plane> xdp;
  std::unique_ptr<Plane> p4;
};

std::unique_ptr<Command> make_switch_command(Planes planes);

}  // namespace infold::cli
