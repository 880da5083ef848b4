// SPDX-License-Identifier: Apache-2.0
//
// Knows when, never what: every decision is the worker's.
#include "runtime/worker_driver.h"

#include <algorithm>

#include "runtime/driver_thread.h"

namespace infold::runtime {
namespace {

// How long a leaving rank keeps telling aggregators that do not answer. Peers that miss it learn
// from their own deadlines.
constexpr base::Duration kLeaveMax = base::milliseconds(200);

}  // namespace

WorkerDriver::WorkerDriver(const core::WorkerOptions& options,
                           std::unique_ptr<io::DatagramPort> port, EventSink& sink)
    : worker_(options),
      port_(std::move(port)),
      sink_(sink),
      out_(options.limits.datagram_bytes_max) {
  thread_ = start_driver_thread("infold-rank", [this] { run(); });
}

WorkerDriver::~WorkerDriver() { stop(); }

void WorkerDriver::run() {
  for (;;) {
    const std::span<const io::Received> batch = port_->receive();
    const std::optional<base::Instant> next = step(batch);
    sink_.settle();
    if (!next) return;
    if (batch.empty()) port_->wait(*next);
  }
}

// When the worker wants to be called next; nothing once the thread is no longer needed.
std::optional<base::Instant> WorkerDriver::step(std::span<const io::Received> batch) {
  const std::lock_guard lock(mutex_);
  base::Instant now = io::monotonic_now();
  if (port_->is_blocked()) {
    port_->flush();
    transmit(now);
  }
  for (const io::Received& received : batch) {
    worker_.handle_datagram(now, static_cast<std::uint8_t>(received.from), received.datagram);
    transmit(now);
    now = io::monotonic_now();
  }
  if (worker_.poll_timeout().value_or(base::Instant::never()) <= now) {
    worker_.handle_timeout(now);
    transmit(now);
  }
  port_->flush();
  while (const auto event = worker_.poll_event()) sink_.take(now, *event);

  const auto next = worker_.poll_timeout();
  if (ends_at_ != base::Instant::never() && (!next || ends_at_ <= now)) return std::nullopt;
  base::Instant wanted = std::min(next.value_or(base::Instant::never()), ends_at_);
  // What is due cannot go out before there is room, which wakes us.
  if (port_->is_blocked()) wanted = std::max(wanted, now + base::milliseconds(1));
  sleeps_until_ = batch.empty() ? wanted : base::Instant{};
  return wanted;
}

void WorkerDriver::transmit(base::Instant now) {
  while (!port_->is_blocked()) {
    const auto datagram = worker_.poll_transmit(now, out_);
    if (!datagram) return;
    port_->send(io::Peer{datagram->site}, std::span(out_).first(datagram->bytes));
  }
}

void WorkerDriver::after_command(base::Instant now) {
  transmit(now);
  port_->flush();
  // A job that has ended has events to hand out at once.
  const base::Instant next =
      worker_.failure() ? now : worker_.poll_timeout().value_or(base::Instant::never());
  if (next >= sleeps_until_) return;
  sleeps_until_ = next;
  port_->wake();
}

io::PortCounters WorkerDriver::port_counters() {
  const std::lock_guard lock(mutex_);
  return port_->counters();
}

void WorkerDriver::stop() {
  if (!thread_.joinable()) return;
  with_worker([this](core::Worker& worker, base::Instant now) {
    worker.leave(now);
    ends_at_ = now + kLeaveMax;
    sleeps_until_ = base::Instant::never();  // so that it is woken
  });
  thread_.join();
}

}  // namespace infold::runtime
