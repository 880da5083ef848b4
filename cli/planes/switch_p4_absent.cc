// SPDX-License-Identifier: Apache-2.0
//
// Replaces switch_p4.cc in builds without gRPC.
#include "cli/planes/planes.h"

namespace infold::cli {
namespace {

class AbsentP4Plane final : public Plane {
 public:
  ExitCode run(const PlaneOptions&, Output& output) const override {
    output.log(
        "infold switch: this build cannot talk to P4 devices: libgrpc++-dev or "
        "protobuf-compiler-grpc was missing\n");
    return ExitCode::kFailed;
  }
};

}  // namespace

std::unique_ptr<Plane> make_p4_plane() { return std::make_unique<AbsentP4Plane>(); }

}  // namespace infold::cli
