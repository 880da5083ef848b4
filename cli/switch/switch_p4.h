// SPDX-License-Identifier: Apache-2.0
//
// `infold switch --plane p4`: the daemon that controls a P4 device.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cli/line/command.h"
#include "cli/line/options.h"
#include "cli/line/output.h"
#include "io/address/socket_address.h"
#include "p4/program_names.h"

namespace infold::cli {

struct P4SwitchOptions {
  io::SocketAddress listen;
  io::SocketAddress control;
  io::SocketAddress metrics;  // unset: none
  std::uint32_t slots = 0;
  std::uint32_t datagram_bytes_max = 0;
};

// The options that this plane alone has.
class P4Options {
 public:
  void declare(Options& options);
  // The first one that was given, and is not as without it. Null: none was.
  const char* find_given() const;
  // Returns an error if the options do not go together, else an empty text.
  std::string find_misfit(const io::SocketAddress& listen, const io::SocketAddress& parent) const;
  // Works until a signal stops it. Requires: an InterruptGuard, and no misfit.
  ExitCode run(const P4SwitchOptions& options, Output& output) const;

 private:
  p4::TargetKind target() const;

  std::string device_;
  io::SocketAddress device_at_;
  std::string target_ = "bmv2";
  std::string program_;
  std::vector<std::string> ports_;
  std::uint32_t id_ = 0;
};

}  // namespace infold::cli
