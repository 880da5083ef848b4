// SPDX-License-Identifier: Apache-2.0
//
// The gRPC channel to a device's P4Runtime server, encrypted or not.
#pragma once

#include <memory>

#include <grpcpp/grpcpp.h>

#include "planes/p4/device.h"

namespace infold::p4 {

// Connects when it is first used. From the first call on, gRPC logs into the log of this process.
std::shared_ptr<grpc::Channel> make_channel(const DeviceOptions& options);

}  // namespace infold::p4
