// SPDX-License-Identifier: Apache-2.0
//
// Runs one core::Worker on an endpoint. The driver's thread receives packets, hands them to the
// worker, sends the worker's packets, and sleeps until the worker's next deadline. Other threads
// use the worker through with_worker(). It sends the command's packets at once, so a call does not
// wait for the thread to wake.
//
// A thread that waits for a result may drive meanwhile (drive_until). Then no thread has to wake
// for the result. The driver's own thread steps aside. The driving thread has the wheel: it alone
// receives and waits.
//
// A rank has one driver, or several, each with a share of the job's sites and an endpoint of its
// own. Drivers share no lock for packets.
//
// The sink gets events on the driving thread. Any thread may call any method, except that one
// thread calls leave(), stop() and the destructor.
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
  // Called under the driver's lock. Must only note the event.
  virtual void take(base::Instant now, const core::Event& event) = 0;
  // Likewise, once: the job has ended at this worker, which says `said` to its sites.
  virtual void take_end(const core::Failure& /*failure*/, const core::Abort& /*said*/) {}
  // Called after some events, without the lock.
  virtual void settle() = 0;
};

class WorkerDriver {
 public:
  // `endpoint` has one peer per site, in the order of options.sites. `sink` outlives the driver.
  WorkerDriver(const core::WorkerOptions& options, std::unique_ptr<io::Endpoint> endpoint,
               EventSink& sink);
  ~WorkerDriver();

  // Once, before all others but with_worker(). The sink is not called before: a job may end while
  // the sink's owner is still made. Throws std::system_error without a thread.
  void start();

  // Calls use(worker, now) with the lock held. Then sends packets and wakes the thread as needed.
  template <typename Use>
  decltype(auto) with_worker(Use&& use) {
    const std::lock_guard lock(mutex_);
    const base::Instant now = io::monotonic_now();
    const AfterCommand after(*this, now);
    return std::forward<Use>(use)(worker_, now);
  }

  // Drives on this thread until done() or the deadline. Returns at once if another caller drives.
  template <typename Done>
  void drive_until(Done&& done, base::Instant deadline) {
    if (!take_wheel_from_thread()) return;
    while (!done() && !restarts_.load() && drive_once(deadline)) {
    }
    return_wheel();
  }

  // Returns once no thread drives, and none does until restart().
  void hold();
  // Replaces the worker and its endpoint; null: only the worker. Requires: hold(). The old worker's
  // job has ended, and its events were handed out.
  void restart(const core::WorkerOptions& options, std::unique_ptr<io::Endpoint> endpoint);

  // Makes the driving thread check whether it should go on.
  void wake();
  // Whether a thread is in drive_until().
  bool is_driven_by_caller() const { return caller_drives_.load(); }

  // The endpoint's counters.
  io::EndpointCounters endpoint_counters();

  // Leaves the job. If the endpoint serves a site, other ranks may still need it. Then the thread
  // goes on, and calls in flight get their events soon. Otherwise this is stop().
  void leave();
  // Leaves the job and ends the thread: when the aggregators confirm, or after 200 ms. Calls in
  // flight get their events before it returns.
  void stop();

 private:
  // Does the second half of with_worker(), after any return type of the first.
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
  bool serves_site_ = false;  // of the endpoint
  EventSink& sink_;
  std::vector<std::byte> out_;  // a datagram that has no place() in the endpoint
  // The driving thread sleeps until this instant, or is about to. In the past while it is awake.
  base::Instant sleeps_until_;
  // If packets arrive one by one, to wake up for each costs more than the packet. The driving
  // thread lets some gather for so long, at most for the worker's patience.
  base::Duration gathers_for_;
  site::Polling polling_;
  bool waits_shortly_ = false;  // for few packets, all in flight
  bool end_is_told_ = false;    // to the sink
  base::Instant ends_at_ = base::Instant::never();

  // Of the wheel. wheel_mutex_ is locked after mutex_.
  std::mutex wheel_mutex_;
  std::condition_variable wheel_freed_;
  bool wheel_taken_ = false;
  bool is_over_ = false;        // the thread has ended
  bool is_called_ = false;      // the thread should not rest
  std::uint64_t drives_ = 0;    // of callers, so far
  bool thread_sleeps_ = false;  // until the caller that drives is done
  base::Instant rests_until_;
  std::atomic<bool> caller_drives_{false};  // or waits for the wheel
  std::atomic<bool> has_work_{false};
  std::atomic<bool> restarts_{false};  // the driving thread lets go of the wheel
  std::thread thread_;
};

}  // namespace infold::rank
