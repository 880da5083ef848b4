// SPDX-License-Identifier: Apache-2.0
//
// The planes of `infold switch`, besides user space, that the complete program has.
#pragma once

#include <memory>

#include "cli/switch/plane.h"

namespace infold::cli {

// In a build that lacks what a plane needs (libbpf and the compiler for packet programs, or gRPC),
// the plane says so when it runs.
std::unique_ptr<Plane> make_xdp_plane();
std::unique_ptr<Plane> make_p4_plane();

}  // namespace infold::cli
