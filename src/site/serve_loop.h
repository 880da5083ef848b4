// SPDX-License-Identifier: Apache-2.0
//
// The thread that runs aggregators. It serves a batch of packets, then runs the commands of other
// threads. If nothing has arrived, it polls or sleeps. Aggregators have no timers, so it does
// nothing else.
#pragma once

#include <atomic>
#include <cstddef>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

#include "base/instant.h"
#include "site/polling.h"

namespace infold::site {

// Aggregators, with the socket or the endpoint of their packets. One thread calls all but wake().
class PacketServer {
 public:
  virtual ~PacketServer() = default;

  // Reads a batch, lets the aggregators answer, and sends the answers. Returns how many datagrams
  // were in the batch.
  virtual std::size_t serve() = 0;
  // Whether the last packet was of a small tensor, whose ranks wait for every answer.
  virtual bool last_was_small() const = 0;
  // Returns when something has arrived, at the deadline, or after wake(). May return early.
  virtual void wait(base::Instant deadline) = 0;
  virtual void wake() = 0;  // from any thread
};

class ServeLoop {
 public:
  // Starts the thread. `server` outlives the loop, and is the thread's until stop() returns. Throws
  // std::system_error without a thread.
  ServeLoop(const char* thread_name, PacketServer& server);
  ~ServeLoop();

  // Runs the command on the thread, between two batches, and returns when it is done. From any
  // thread but the loop's. Requires: not stopped.
  void run(const std::function<void()>& command);
  // The same, and returns at once. Commands run in their order.
  void post(std::function<void()> command);
  void stop();  // a second time does nothing

 private:
  void serve();
  void run_commands();

  PacketServer& server_;
  Polling polling_;
  bool stops_ = false;  // of the thread

  std::mutex mutex_;  // of the commands
  std::vector<std::function<void()>> commands_;
  std::atomic<bool> has_commands_{false};
  std::thread thread_;
};

}  // namespace infold::site
