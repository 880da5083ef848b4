// SPDX-License-Identifier: Apache-2.0
//
// The planes of `infold switch`, besides user space, that the complete program has.
#pragma once

#include <memory>

#include "cli/switch/plane.h"

namespace infold::cli {

// In builds without libbpf or the compiler for packet programs, this plane reports that when it
// runs.
std::unique_ptr<Plane> make_xdp_plane();
std::unique_ptr<Plane> make_p4_plane();

}  // namespace infold::cli
