// SPDX-License-Identifier: Apache-2.0
#include "study/measure/host/echo_endpoint.h"

#include <chrono>

#include "core/packet/packet.h"
#include "io/host/clock.h"

namespace infold::measure {

EchoEndpoint::EchoEndpoint(std::size_t datagram_bytes_max, std::size_t datagrams)
    : datagram_bytes_max_(datagram_bytes_max), ring_(datagram_bytes_max * (datagrams + 1)) {
  for (auto* const list : {&sent_, &received_, &ready_}) list->reserve(datagrams);
}

std::span<std::byte> EchoEndpoint::place() {
  return std::span(ring_).subspan(next_, datagram_bytes_max_);
}

void EchoEndpoint::send(io::Neighbour to, std::span<const std::byte> datagram) {
  send_apart(to, datagram, {});
}

void EchoEndpoint::send_apart(io::Neighbour to, std::span<const std::byte> head,
                              std::span<const std::byte> payload) {
  ++counters_.sent;
  const std::span<std::byte> echo = place().first(head.size() + payload.size());
  constexpr std::byte kAdd{INFOLD_VERSION << 4 | INFOLD_KIND_ADD};
  if (head.data() != echo.data() || echo[1] != kAdd) return;
  echo[1] = std::byte{INFOLD_VERSION << 4 | INFOLD_KIND_RESULT};
  sent_.push_back({to, echo});
  next_ += echo.size();
  if (next_ + datagram_bytes_max_ > ring_.size()) next_ = 0;
}

void EchoEndpoint::flush() {
  if (sent_.empty()) return;
  const base::MutexLock lock(mutex_);
  ready_.insert(ready_.end(), sent_.begin(), sent_.end());
  sent_.clear();
  changed_.notify_one();
}

std::span<const io::Received> EchoEndpoint::receive() {
  received_.clear();
  const base::MutexLock lock(mutex_);
  received_.swap(ready_);
  return received_;
}

void EchoEndpoint::wait(base::Instant deadline) {
  base::MutexLock lock(mutex_);
  const auto is_due = [this]() REQUIRES(mutex_) { return woken_ || !ready_.empty(); };
  if (deadline == base::Instant::never()) {
    while (!is_due()) changed_.wait(lock);
  } else {
    const base::Duration left = deadline - io::monotonic_now();
    changed_.wait_for(lock, std::chrono::nanoseconds(left.ns), is_due);
  }
  woken_ = false;
}

void EchoEndpoint::wake() {
  const base::MutexLock lock(mutex_);
  woken_ = true;
  changed_.notify_one();
}

}  // namespace infold::measure
