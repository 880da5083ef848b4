// SPDX-License-Identifier: Apache-2.0
//
// The join server of a job without a switch: a registry without a plane, served at rank 0.
#pragma once

#include <memory>
#include <string>

#include <infold/result.h>

#include "io/address/socket_address.h"
#include "join/registry/job_registry.h"
#include "join/service/join_server.h"
#include "keys/token/rendezvous_keys.h"

namespace infold::rank {

class Rendezvous {
 public:
  // `name` is the address as the user wrote it, for errors. Null `keys`: every rank may join.
  // Throws std::system_error if no thread can be started.
  static Result<std::unique_ptr<Rendezvous>> open(const std::string& name,
                                                  const io::SocketAddress& at,
                                                  const keys::RendezvousKeys* keys = nullptr);

  io::SocketAddress address() const { return server_->address(); }

 private:
  Rendezvous() = default;
  join::JobRegistry registry_{nullptr};
  std::unique_ptr<join::JoinServer> server_;
};

}  // namespace infold::rank
