// SPDX-License-Identifier: Apache-2.0
//
// Joins one core::Worker to an endpoint: a thread that reads, calls, drains, writes and sleeps
// until the worker's next deadline. Other threads reach the worker through with_worker(), which
// sends at once what their command produced, so that a call does not wait for the thread to wake.
//
// A thread that waits for a result may drive meanwhile (drive_until), so that the result need not
// be handed from one thread to another; the driver's own thread then steps aside. Whoever drives
// has the wheel: it alone receives and waits.
//
// Events go to the sink on the thread that drives. Any thread may call any method, but
// leave(), stop() and the destructor are for one.
#pragma once

#include <atomic>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <thread>
#include <utility>
#include <vector>

#include "base/instant.h"
#include "core/worker/worker.h"
#include "io/endpoint.h"
#include "io/host/clock.h"
#include "site/polling.h"

namespace infold::rank {

class EventSink {
 public:
  virtual ~EventSink() = default;
  // Under the driver's lock: note it, and nothing that takes time.
  virtual void take(base::Instant now, const core::Event& event) = 0;
  // After some events, without the lock.
  virtual void settle() = 0;
};

class WorkerDriver {
 public:
  // `endpoint` has one peer per site, in the order of options.sites. `sink` outlives the driver.
  // Throws std::system_error when no thread can be had.
  WorkerDriver(const core::WorkerOptions& options, std::unique_ptr<io::Endpoint> endpoint,
               EventSink& sink);
  ~WorkerDriver();

  // Calls use(worker, now) with the lock held, then sends and wakes what that made necessary.
  template <typename Use>
  decltype(auto) with_worker(Use&& use) {
    const std::lock_guard lock(mutex_);
    const base::Instant now = io::monotonic_now();
    const AfterCommand after(*this, now);
    return std::forward<Use>(use)(worker_, now);
  }

  // Drives on this thread until done() or the deadline; returns at once while another thread does.
  template <typename Done>
  void drive_until(Done&& done, base::Instant deadline) {
    if (!take_wheel_from_thread()) return;
    while (!done() && !restarts_.load() && drive_once(deadline)) {
    }
    return_wheel();
  }

  // Another life: a new worker and its endpoint. Requires: the old worker's job has ended and its
  // events have been handed out.
  void restart(const core::WorkerOptions& options, std::unique_ptr<io::Endpoint> endpoint);

  // Makes whoever drives look whether that is still wanted.
  void wake();

  // What the endpoint did, and how many datagrams went out.
  io::EndpointCounters endpoint_counters();

  // Leaves the job. Where the endpoint serves a site, which other ranks may still need, the thread
  // goes on, and calls in flight get their events soon. Elsewhere this is stop().
  void leave();
  // Leaves the job and ends the thread: at once where the aggregators confirm, else after 200 ms.
  // Calls in flight get their events before it returns.
  void stop();

 private:
  // Does the second half of with_worker() whatever the first returned.
  class AfterCommand {
   public:
    AfterCommand(WorkerDriver& driver, base::Instant now) : driver_(driver), now_(now) {}
    ~AfterCommand() { driver_.after_command(now_); }
    AfterCommand(const AfterCommand&) = delete;
    AfterCommand& operator=(const AfterCommand&) = delete;

   private:
    WorkerDriver& driver_;
    base::Instant now_;
  };

  void run();
  void take_wheel();
  void hand_over_wheel();
  bool take_wheel_from_thread();
  void return_wheel();
  bool drive_once(base::Instant deadline);
  bool needs_thread();
  std::optional<base::Instant> step(std::span<const io::Received> batch, std::size_t served);
  void transmit(base::Instant now);
  void flush(base::Instant now);
  void after_command(base::Instant now);

  std::mutex mutex_;
  core::Worker worker_;
  std::unique_ptr<io::Endpoint> endpoint_;
  bool serves_site_ = false;  // as the endpoint says to whoever has the wheel
  EventSink& sink_;
  std::vector<std::byte> out_;  // one datagram being written
  // The instant that the thread sleeps until, or is about to; in the past while it is awake.
  base::Instant sleeps_until_;
  // Where packets come one by one, waking up for each costs more than the packet: whoever drives
  // lets some gather first, as long as the worker has patience.
  base::Duration gathers_for_;
  site::Polling polling_;
  bool waits_shortly_ = false;  // for few packets, all of which are under way
  base::Instant ends_at_ = base::Instant::never();

  // Of the wheel, below mutex_ in the order of locks.
  std::mutex wheel_mutex_;
  std::condition_variable wheel_freed_;
  bool wheel_taken_ = false;
  bool is_over_ = false;    // the thread has ended
  bool is_called_ = false;  // it should not rest
  base::Instant rests_until_;
  std::atomic<bool> caller_drives_{false};  // or waits for the wheel
  std::atomic<bool> has_work_{false};
  std::atomic<bool> restarts_{false};  // whoever drives lets go
  std::thread thread_;
};

}  // namespace infold::rank
