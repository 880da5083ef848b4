// SPDX-License-Identifier: Apache-2.0
//
// In place of switch_xdp.cc in builds without libbpf or the compiler for packet programs.
#include "cli/switch/switch_xdp.h"

namespace infold::cli {

ExitCode run_xdp_switch(const XdpSwitchOptions&, Output& output) {
  output.log(
      "infold switch: this build has no packet program: libbpf-dev or clang-19 was missing\n");
  return ExitCode::kFailed;
}

}  // namespace infold::cli
