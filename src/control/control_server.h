// SPDX-License-Identifier: Apache-2.0
//
// Serves a Registrar over gRPC (proto/infold/v1/control.proto). A stream that breaks is a rank
// that is lost.
#pragma once

#include <memory>

#include "base/result.h"
#include "control/registrar.h"
#include "io/socket_address.h"

namespace infold::control {

class ControlServer {
 public:
  // `registrar` outlives the server. The error says why the address cannot be used.
  static base::Result<std::unique_ptr<ControlServer>> start(const io::SocketAddress& listen,
                                                            Registrar& registrar);
  // Stops the registrar, waits a moment for ranks to leave, and cuts off those that do not.
  ~ControlServer();
  ControlServer(const ControlServer&) = delete;
  ControlServer& operator=(const ControlServer&) = delete;

  io::SocketAddress address() const;

 private:
  class State;
  explicit ControlServer(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace infold::control
