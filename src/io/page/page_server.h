// SPDX-License-Identifier: Apache-2.0
//
// Hands one page of text to whoever asks for it over HTTP, on a thread of its own. Bounded in all
// that a peer decides: connections, bytes of a request, and the time for the whole of it. A peer
// that comes when all connections are taken gets the place of the one that has had it longest.
//
// It has no encryption and no authentication: listen where only those who may read can connect.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "base/result.h"
#include "io/address/socket_address.h"

namespace infold::io {

struct PageOptions {
  SocketAddress listen;
  std::string path;  // "/metrics"
  std::string content_type;
  // Writes the page; called on the server's thread, and ten times a second at most, so that whoever
  // asks more often gets what is there and disturbs nobody.
  std::function<std::string()> write;
};

class PageServer {
 public:
  // Throws std::system_error without a thread.
  static base::Result<std::unique_ptr<PageServer>> start(PageOptions options);
  ~PageServer();  // writes no page after this
  PageServer(const PageServer&) = delete;
  PageServer& operator=(const PageServer&) = delete;

  SocketAddress address() const;

 private:
  class State;
  explicit PageServer(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace infold::io
