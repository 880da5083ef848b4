// SPDX-License-Identifier: Apache-2.0
//
// Replaces kernel_plane.cc in builds without libbpf or without the compiler for packet programs.
#include "cli/machine.h"

namespace infold::cli {

Finding inspect_kernel_plane() {
  return {.name = "kernel plane", .found = "this build has no packet program"};
}

std::vector<Finding> inspect_kernel_plane_closely() {
  return {{.name = "kernel plane: build",
           .ok = false,
           .found = "this build has no packet program",
           .advice = "install libbpf-dev and clang-19 and build again"}};
}

}  // namespace infold::cli
