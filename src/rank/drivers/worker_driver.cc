// SPDX-License-Identifier: Apache-2.0
//
// Decides when the worker is called. The worker makes all other decisions.
#include "rank/drivers/worker_driver.h"

#include <algorithm>
#include <chrono>

#include "base/stream_copy.h"
#include "site/driver_thread.h"

namespace infold::rank {
namespace {

// A leaving rank repeats its message to aggregators that do not answer, for this long. A rank that
// misses the message reaches its own deadline.
constexpr base::Duration kLeaveMax = base::milliseconds(200);

// After a caller has driven, the thread leaves the wheel to callers for this long. It checks at
// intervals of kRestPiece whether it is needed.
constexpr base::Duration kRest = base::milliseconds(10);
constexpr base::Duration kRestPiece = base::milliseconds(1);
// A shorter rest, if the endpoint serves a site whose sums other ranks wait for.
constexpr base::Duration kRestOfSite = base::milliseconds(1);
// After this many datagrams for the worker, the driver sends one train and reads the clock again.
constexpr std::size_t kTrain = 32;
// The driver prefetches memory for the datagram that is this many ahead.
constexpr std::size_t kExpected = 2;
// If more is in flight, the caller of the transfer may be busy with other work.
constexpr std::uint32_t kFewInFlight = 64;

}  // namespace

WorkerDriver::WorkerDriver(const core::WorkerOptions& options,
                           std::unique_ptr<io::Endpoint> endpoint, EventSink& sink)
    : worker_(options),
      endpoint_(std::move(endpoint)),
      serves_site_(endpoint_->served().has_value()),
      sink_(sink),
      out_(options.limits.datagram_bytes_max) {}

WorkerDriver::~WorkerDriver() { stop(); }

void WorkerDriver::start() {
  thread_ = site::start_driver_thread("infold-rank", [this] { run(); });
}

void WorkerDriver::run() {
  for (;;) {
    take_wheel();
    while (!caller_drives_.load() && !restarts_.load()) {
      if (drive_once(base::Instant::never())) continue;
      const base::MutexLock lock(wheel_mutex_);
      is_over_ = true;
      wheel_freed_.notify_all();
      return;
    }
    hand_over_wheel();
  }
}

// Receives, steps and waits once. Returns false at the deadline, or if the driver is not needed any
// more.
bool WorkerDriver::drive_once(base::Instant deadline) {
  const std::span<const io::Received> batch = endpoint_->receive();
  const std::size_t served = endpoint_->served().value_or(0);
  const std::optional<base::Instant> next = step(batch, served);
  sink_.settle();
  if (!next) return false;
  if (!batch.empty() || served > 0) {
    if (gathers_for_.ns > 0) io::rest(gathers_for_);
    return true;
  }
  const base::Instant now = io::monotonic_now();
  if (deadline != base::Instant::never() && now >= deadline) return false;
  polling_.wait(now, waits_shortly_, [&] { endpoint_->wait(std::min(*next, deadline)); });
  return true;
}

// The thread waits while a caller drives. It then rests for a while, because a caller that waits
// for one call often waits for the next. It does not rest while there is work. A caller that drives
// for long wakes the thread when it is done; after a short call, it does not have to.
void WorkerDriver::take_wheel() {
  base::MutexLock lock(wheel_mutex_);
  std::uint64_t seen = ~std::uint64_t{0};
  for (;;) {
    const bool rests = !is_called_ && !has_work_.load() && io::monotonic_now() < rests_until_;
    const bool is_driven = wheel_taken_ || caller_drives_.load() || restarts_.load();
    if (!is_driven && !rests) break;
    if (is_driven && seen == drives_) {
      thread_sleeps_ = true;
      wheel_freed_.wait(lock);
      thread_sleeps_ = false;
    } else {
      seen = drives_;
      wheel_freed_.wait_for(lock, std::chrono::nanoseconds(kRestPiece.ns));
    }
  }
  wheel_taken_ = true;
  is_called_ = false;
}

void WorkerDriver::hand_over_wheel() {
  const base::MutexLock lock(wheel_mutex_);
  wheel_taken_ = false;
  wheel_freed_.notify_all();
}

bool WorkerDriver::take_wheel_from_thread() {
  if (caller_drives_.exchange(true)) return false;
  base::MutexLock lock(wheel_mutex_);
  if (wheel_taken_) endpoint_->wake();
  while (wheel_taken_ && !is_over_) wheel_freed_.wait(lock);
  if (is_over_) {
    caller_drives_.store(false);
    return false;
  }
  wheel_taken_ = true;
  ++drives_;
  return true;
}

// Called by a caller. No thread drives until the thread or the next caller takes the wheel.
void WorkerDriver::return_wheel() {
  bool is_called = false;
  base::Duration rest;
  {
    const base::MutexLock lock(mutex_);
    sleeps_until_ = {};
    is_called = needs_thread();
    rest = serves_site_ ? kRestOfSite : kRest;
  }
  const base::MutexLock lock(wheel_mutex_);
  wheel_taken_ = false;
  is_called_ = is_called_ || is_called;
  rests_until_ = io::monotonic_now() + rest;
  caller_drives_.store(false);
  if (is_called_ || thread_sleeps_) wheel_freed_.notify_all();
}

// Whether there is work that cannot wait for the thread's next check. Also notes whether there is
// any work.
bool WorkerDriver::needs_thread() {
  has_work_.store(worker_.in_flight() > 0 || worker_.failure().has_value());
  return worker_.failure().has_value() || worker_.in_flight() > kFewInFlight;
}

// Returns when the worker must be called next, or nothing if the thread is not needed any more.
std::optional<base::Instant> WorkerDriver::step(std::span<const io::Received> batch,
                                                std::size_t served) {
  const base::MutexLock lock(mutex_);
  base::Instant now = io::monotonic_now();
  if (endpoint_->is_blocked()) {
    endpoint_->flush();
    transmit(now);
  }
  if (!batch.empty()) polling_.found(now);
  std::size_t handled = 0;
  for (const io::Received& received : batch) {
    if (handled + kExpected < batch.size()) {
      const io::Received& later = batch[handled + kExpected];
      worker_.expect(static_cast<std::uint8_t>(later.from), later.datagram);
    }
    worker_.handle_datagram(now, static_cast<std::uint8_t>(received.from), received.datagram);
    if (++handled % kTrain != 0 && handled < batch.size()) continue;
    transmit(now);
    now = io::monotonic_now();
  }
  if (!batch.empty()) base::finish_streams();  // completes results before others read them
  if (worker_.poll_timeout().value_or(base::Instant::never()) <= now) {
    worker_.handle_timeout(now);
    transmit(now);
  }
  flush(now);
  const bool has_news = worker_.has_event();
  if (worker_.failure() && !std::exchange(end_is_told_, true)) {
    sink_.take_end(*worker_.failure(), *worker_.end_said());
  }
  while (const auto event = worker_.poll_event()) sink_.take(now, *event);

  const std::uint32_t in_flight = worker_.in_flight();
  waits_shortly_ = in_flight > 0 && in_flight <= kFewInFlight;
  const auto next = worker_.poll_timeout();
  if (ends_at_ != base::Instant::never() && (!next || ends_at_ <= now)) return std::nullopt;
  base::Instant wanted = std::min(next.value_or(base::Instant::never()), ends_at_);
  const std::size_t arrived = batch.size() + served;
  const bool is_short = arrived > 0 && arrived < kTrain / 2;
  gathers_for_ = is_short ? worker_.patience() : base::Duration{};
  // After this function, the sink handles the events and may give the worker new work.
  if (has_news) wanted = now;
  // Due packets cannot go out before the endpoint has room, and wait() returns when it has.
  if (endpoint_->is_blocked()) wanted = std::max(wanted, now + base::milliseconds(1));
  sleeps_until_ = arrived == 0 ? wanted : base::Instant{};
  return wanted;
}

void WorkerDriver::transmit(base::Instant now) {
  using Payload = core::Worker::Payload;
  const Payload payload = endpoint_->sends_apart() ? Payload::in_input : Payload::in_out;
  while (!endpoint_->is_blocked()) {
    const std::span<std::byte> place = endpoint_->place();
    const std::span<std::byte> out = place.size() < out_.size() ? std::span(out_) : place;
    const auto datagram = worker_.poll_transmit(now, out, payload);
    if (!datagram) return;
    const io::Neighbour to{datagram->site};
    if (datagram->payload.empty()) {
      endpoint_->send(to, out.first(datagram->bytes));
    } else {
      endpoint_->send_apart(to, out.first(datagram->bytes), datagram->payload);
    }
  }
}

// If a path has become too narrow, it would also lose all retransmissions, so the job ends.
void WorkerDriver::flush(base::Instant now) {
  endpoint_->flush();
  const auto narrow = endpoint_->narrow_neighbour();
  if (!narrow || worker_.failure()) return;
  worker_.find_narrow_path(now, static_cast<std::uint8_t>(narrow->neighbour),
                           static_cast<std::uint32_t>(narrow->mtu_bytes));
  transmit(now);
  endpoint_->flush();
}

void WorkerDriver::after_command(base::Instant now) {
  transmit(now);
  flush(now);
  // If the job has ended, its events must be delivered at once.
  if (needs_thread()) {
    const base::MutexLock lock(wheel_mutex_);
    if (!is_called_ && !wheel_taken_) wheel_freed_.notify_all();
    is_called_ = true;
  }
  const bool has_news = worker_.failure() || worker_.has_event();
  const base::Instant next =
      has_news ? now : worker_.poll_timeout().value_or(base::Instant::never());
  if (next >= sleeps_until_) return;
  sleeps_until_ = next;
  endpoint_->wake();
}

void WorkerDriver::hold() {
  restarts_.store(true);
  base::MutexLock wheel(wheel_mutex_);
  if (wheel_taken_) endpoint_->wake();
  while (wheel_taken_) wheel_freed_.wait(wheel);
  wheel_taken_ = true;
}

void WorkerDriver::restart(const core::WorkerOptions& options,
                           std::unique_ptr<io::Endpoint> endpoint) {
  core::Worker worker(options);
  const base::MutexLock lock(mutex_);
  const base::MutexLock wheel(wheel_mutex_);
  worker_ = std::move(worker);
  if (endpoint) endpoint_.swap(endpoint);
  serves_site_ = endpoint_->served().has_value();
  out_.resize(options.limits.datagram_bytes_max);
  sleeps_until_ = {};
  gathers_for_ = {};
  end_is_told_ = false;
  restarts_.store(false);
  wheel_taken_ = false;
  wheel_freed_.notify_all();
}

void WorkerDriver::wake() {
  const base::MutexLock lock(mutex_);
  endpoint_->wake();
}

io::EndpointCounters WorkerDriver::endpoint_counters() {
  const base::MutexLock lock(mutex_);
  return endpoint_->counters();
}

void WorkerDriver::leave() {
  const bool serves_site =
      with_worker([this](core::Worker& worker, base::Instant now) REQUIRES(mutex_) {
        worker.leave(now);
        return serves_site_;
      });
  if (!serves_site) stop();
}

void WorkerDriver::stop() {
  if (!thread_.joinable()) return;
  with_worker([this](core::Worker& worker, base::Instant now) REQUIRES(mutex_) {
    worker.leave(now);
    ends_at_ = now + kLeaveMax;
    sleeps_until_ = base::Instant::never();  // so that after_command() wakes it
  });
  thread_.join();
}

}  // namespace infold::rank
