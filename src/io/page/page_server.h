// SPDX-License-Identifier: Apache-2.0
//
// Serves one page of text over HTTP, on a thread of its own. The number of connections, the bytes
// of a request and the time of a connection are bounded. When all connections are taken, a new one
// replaces the oldest.
//
// The server has no encryption and no authentication. Listen only where permitted readers can
// connect.
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
  // Writes the page. The server's thread calls it at most ten times a second. A client that asks
  // more often gets the last page again.
  std::function<std::string()> write;
};

class PageServer {
 public:
  // Throws std::system_error without a thread.
  static base::Result<std::unique_ptr<PageServer>> start(PageOptions options);
  ~PageServer();  // does not call `write` after this
  PageServer(const PageServer&) = delete;
  PageServer& operator=(const PageServer&) = delete;

  SocketAddress address() const;

 private:
  class State;
  explicit PageServer(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace infold::io
