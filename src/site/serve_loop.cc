// SPDX-License-Identifier: Apache-2.0
#include "site/serve_loop.h"

#include <future>
#include <utility>

#include "io/host/clock.h"
#include "site/driver_thread.h"

namespace infold::site {

ServeLoop::ServeLoop(const char* thread_name, PacketServer& server)
    : server_(server), thread_(start_driver_thread(thread_name, [this] { serve(); })) {}

ServeLoop::~ServeLoop() { stop(); }

void ServeLoop::stop() {
  if (!thread_.joinable()) return;
  run([this] { stops_ = true; });
  thread_.join();
}

void ServeLoop::run(const std::function<void()>& command) {
  std::promise<void> done;
  post([&] {
    command();
    done.set_value();
  });
  done.get_future().wait();
}

void ServeLoop::post(std::function<void()> command) {
  {
    const base::MutexLock lock(mutex_);
    commands_.push_back(std::move(command));
    has_commands_.store(true, std::memory_order_release);
  }
  server_.wake();
}

void ServeLoop::serve() {
  for (;;) {
    if (has_commands_.load(std::memory_order_acquire)) run_commands();
    if (stops_) return;
    const std::size_t served = server_.serve();
    const base::Instant now = io::monotonic_now();
    if (served > 0) {
      polling_.found(now);
    } else {
      polling_.wait(now, server_.last_was_small(),
                    [this] { server_.wait(base::Instant::never()); });
    }
  }
}

void ServeLoop::run_commands() {
  std::vector<std::function<void()>> commands;
  {
    const base::MutexLock lock(mutex_);
    commands.swap(commands_);
    has_commands_.store(false, std::memory_order_relaxed);
  }
  for (const std::function<void()>& each : commands) each();
}

}  // namespace infold::site
