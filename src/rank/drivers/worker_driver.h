// SPDX-License-Identifier: Apache-2.0
//
// Runs one core::Worker on an endpoint. The driver's thread receives packets, hands them to the
// worker, sends the worker's packets, and sleeps until the worker's next deadline. Other threads
// use the worker through with_worker(), which sends the resulting packets at once. A call therefore
// does not wait for the thread to wake up.
//
// A thread that waits for a result may drive meanwhile (drive_until), so that no other thread has
// to wake up for the result. The driver's own thread steps aside. The thread that drives has the
// wheel: it alone receives and waits.
//
// A rank has one or several drivers. Each has a share of the job's sites and its own endpoint.
// Drivers do not share locks for packets.
//
// The sink gets events on the driving thread. Any thread may call any method, but leave(), stop()
// and the destructor are for one thread.
#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <span>
#include <thread>
#include <utility>
#include <vector>

#include "base/instant.h"
#include "base/mutex.h"
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
  // Called once, also under the lock: the job has ended at this worker, which sends `said` to its
  // sites.
  virtual void take_end(const core::Failure& /*failure*/, const core::Abort& /*said*/) {}
  // Called after some events, without the lock.
  virtual void settle() = 0;
};

class WorkerDriver {
 public:
  // `endpoint` has one neighbour per site, in the order of options.sites. `sink` outlives the
  // driver.
  WorkerDriver(const core::WorkerOptions& options, std::unique_ptr<io::Endpoint> endpoint,
               EventSink& sink);
  ~WorkerDriver();

  // Call it once, before all other methods except with_worker(). The sink is not called before
  // that, because a job may end while the sink's owner is still being constructed. Throws
  // std::system_error if no thread can be started.
  void start();

  // Calls use(worker, now) with the lock held, then sends packets and wakes the thread if
  // necessary. The analysis is off because `use` may require a lock that the caller holds.
  template <typename Use>
  decltype(auto) with_worker(Use&& use) NO_THREAD_SAFETY_ANALYSIS {
    const base::MutexLock lock(mutex_);
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

  // Stops all driving. Returns once no thread drives, and no thread drives again until restart().
  void hold();
  // Replaces the worker and its endpoint, or only the worker if `endpoint` is null. Requires:
  // hold() has been called, the old worker's job has ended, and its events have been delivered.
  void restart(const core::WorkerOptions& options, std::unique_ptr<io::Endpoint> endpoint);

  // Makes the driving thread check whether it should go on.
  void wake();
  // Whether a thread is in drive_until().
  bool is_driven_by_caller() const { return caller_drives_.load(); }

  io::EndpointCounters endpoint_counters();

  // Leaves the job. If the endpoint serves a site, other ranks may still need it; the thread then
  // goes on, and calls in flight get their events soon. Otherwise this is stop().
  void leave();
  // Leaves the job, and ends the thread when the aggregators confirm or after 200 ms. Calls in
  // flight get their events before it returns.
  void stop();

 private:
  // Does the second half of with_worker(), so that its first half may return any type.
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
  bool needs_thread() REQUIRES(mutex_);
  std::optional<base::Instant> step(std::span<const io::Received> batch, std::size_t served);
  void transmit(base::Instant now) REQUIRES(mutex_);
  void flush(base::Instant now) REQUIRES(mutex_);
  void after_command(base::Instant now) REQUIRES(mutex_);

  base::Mutex mutex_;
  core::Worker worker_ GUARDED_BY(mutex_);
  // The driving thread uses the endpoint without a lock; other threads hold mutex_ or wheel_mutex_.
  // restart() replaces it while it holds both locks and the wheel.
  std::unique_ptr<io::Endpoint> endpoint_;
  bool serves_site_ GUARDED_BY(mutex_) = false;  // whether the endpoint serves a site
  EventSink& sink_;
  std::vector<std::byte> out_ GUARDED_BY(mutex_);  // used if the endpoint offers no place()
  // The driving thread sleeps until this instant, or is about to. The instant is in the past while
  // the thread is awake.
  base::Instant sleeps_until_ GUARDED_BY(mutex_);
  bool end_is_told_ GUARDED_BY(mutex_) = false;  // whether the sink has been told of the end
  base::Instant ends_at_ GUARDED_BY(mutex_) = base::Instant::never();

  // Only the thread that has the wheel uses the next three.
  //
  // If packets arrive one by one, waking up for each costs more than handling it. The driving
  // thread lets packets gather for this long, at most for the worker's patience.
  base::Duration gathers_for_;
  site::Polling polling_;
  bool waits_shortly_ = false;  // whether it waits for only a few packets in flight

  base::Mutex wheel_mutex_ ACQUIRED_AFTER(mutex_);
  base::ConditionVariable wheel_freed_;
  bool wheel_taken_ GUARDED_BY(wheel_mutex_) = false;
  bool is_over_ GUARDED_BY(wheel_mutex_) = false;        // the thread has ended
  bool is_called_ GUARDED_BY(wheel_mutex_) = false;      // the thread should not rest
  std::uint64_t drives_ GUARDED_BY(wheel_mutex_) = 0;    // how often callers have driven
  bool thread_sleeps_ GUARDED_BY(wheel_mutex_) = false;  // until the driving caller is done
  base::Instant rests_until_ GUARDED_BY(wheel_mutex_);
  std::atomic<bool> caller_drives_{false};  // a caller drives or waits for the wheel
  std::atomic<bool> has_work_{false};
  std::atomic<bool> restarts_{false};  // the driving thread must let go of the wheel
  std::thread thread_;
};

}  // namespace infold::rank
