// SPDX-License-Identifier: Apache-2.0
//
// Replaces switch_xdp.cc in builds without libbpf or without the compiler for packet programs.
#include "cli/planes/planes.h"

namespace infold::cli {
namespace {

class AbsentXdpPlane final : public Plane {
 public:
  ExitCode run(const PlaneOptions&, Output& output) const override {
    output.log(
        "infold switch: this build has no packet program: libbpf-dev or clang-19 was missing\n");
    return ExitCode::kFailed;
  }
};

}  // namespace

std::unique_ptr<Plane> make_xdp_plane() { return std::make_unique<AbsentXdpPlane>(); }

}  // namespace infold::cli
