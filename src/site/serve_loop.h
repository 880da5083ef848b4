// SPDX-License-Identifier: Apache-2.0
//
// The thread that runs aggregators. It alternates between serving a batch of packets and running
// commands of other threads. If nothing has arrived, it polls or sleeps. Aggregators have no
// timers, so it has nothing else to do.
#pragma once

#include <atomic>
#include <cstddef>
#include <functional>
#include <thread>
#include <vector>

#include "base/instant.h"
#include "base/mutex.h"
#include "site/polling.h"

namespace infold::site {

// Aggregators with the socket or endpoint that carries their packets. One thread calls everything
// except wake().
class PacketServer {
 public:
  virtual ~PacketServer() = default;

  // Reads a batch, lets the aggregators answer, and sends the answers. Returns how many datagrams
  // were in the batch.
  virtual std::size_t serve() = 0;
  // Whether the last packet belonged to a small tensor, whose ranks wait for every answer.
  virtual bool last_was_small() const = 0;
  // Returns when something has arrived, at the deadline, or after wake(). May return early.
  virtual void wait(base::Instant deadline) = 0;
  virtual void wake() = 0;  // from any thread
};

class ServeLoop {
 public:
  // Starts the thread. `server` must outlive the loop, and only the thread may use it until stop()
  // returns. Throws std::system_error if the system cannot start a thread.
  ServeLoop(const char* thread_name, PacketServer& server);
  ~ServeLoop();

  // Runs the command on the loop's thread between two batches, and returns when it is done. Any
  // other thread may call it. Requires: the loop is not stopped.
  void run(const std::function<void()>& command);
  // Like run(), but returns at once. Commands run in the order in which they were posted.
  void post(std::function<void()> command);
  void stop();  // calling it a second time does nothing

 private:
  void serve();
  void run_commands();

  PacketServer& server_;
  Polling polling_;
  bool stops_ = false;  // used by the loop's thread

  base::Mutex mutex_;
  std::vector<std::function<void()>> commands_ GUARDED_BY(mutex_);
  std::atomic<bool> has_commands_{false};
  std::thread thread_;
};

}  // namespace infold::site
