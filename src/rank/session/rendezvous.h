// SPDX-License-Identifier: Apache-2.0
//
// The control plane of a job without a switch: a registry without a plane, served at rank 0.
#pragma once

#include <memory>
#include <string>

#include <infold/result.h>

#include "control/registry/job_registry.h"
#include "control/service/control_server.h"
#include "io/address/socket_address.h"

namespace infold::rank {

class Rendezvous {
 public:
  // `name`: the address as the user wrote it, for errors. Throws std::system_error without a
  // thread.
  static Result<std::unique_ptr<Rendezvous>> open(const std::string& name,
                                                  const io::SocketAddress& at);

  io::SocketAddress address() const { return server_->address(); }

 private:
  Rendezvous() = default;
  control::JobRegistry registry_{nullptr};
  std::unique_ptr<control::ControlServer> server_;
};

}  // namespace infold::rank
