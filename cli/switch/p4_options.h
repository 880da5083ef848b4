// SPDX-License-Identifier: Apache-2.0
//
// The options of `infold switch` that only --plane p4 uses. Every program declares them, so that a
// program without that plane can name what it lacks.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cli/line/options.h"
#include "io/address/socket_address.h"

namespace infold::cli {

struct P4Options {
  void declare(Options& options);
  // Returns the first of these options that was given with a value other than its default, or null.
  const char* find_given() const;

  std::string device;
  io::SocketAddress device_at;
  std::string target = "bmv2";
  std::string program;
  std::vector<std::string> ports;
  std::uint32_t id = 0;
  std::string authorities, certificate, key;  // files
};

}  // namespace infold::cli
