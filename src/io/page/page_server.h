// SPDX-License-Identifier: Apache-2.0
//
// Serves one page of text over HTTP, on a thread of its own. The number of connections, the length
// of a request and the duration of a connection are bounded. When all connections are taken, a new
// one replaces the oldest.
//
// The server neither encrypts nor authenticates. Listen only at addresses that nobody but permitted
// readers can reach.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "base/result.h"
#include "io/address/socket_address.h"

namespace infold::io {

struct PageOptions {
  SocketAddress listen;
  std::string path;  // such as "/metrics"
  std::string content_type;
  // Writes the page. The server's thread calls it at most ten times a second; requests in between
  // get the last page again.
  std::function<std::string()> write;
};

class PageServer {
 public:
  // Throws std::system_error if the system cannot start a thread.
  static base::Result<std::unique_ptr<PageServer>> start(PageOptions options);
  ~PageServer();  // `write` is not called after this
  PageServer(const PageServer&) = delete;
  PageServer& operator=(const PageServer&) = delete;

  SocketAddress address() const;

 private:
  class State;
  explicit PageServer(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace infold::io
