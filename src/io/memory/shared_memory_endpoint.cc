// SPDX-License-Identifier: Apache-2.0
//
// receive() hands out datagrams where they lie in a queue. The next receive() frees their places.
#include "io/memory/shared_memory_endpoint.h"

#include <algorithm>
#include <ctime>
#include <utility>

#include "base/check.h"
#include "io/host/clock.h"

namespace infold::io {
namespace {

// Large enough that doorbells seldom ring, but small enough that the first packets of a burst are
// answered before the last ones arrive.
constexpr std::size_t kBatchMax = 32;

}  // namespace

SharedMemoryEndpoint::Link::Link(SharedMemoryLink both, const QueueShape& shape)
    : ends(std::move(both)),
      out(ends.queue(SharedMemoryLink::Side::host == ends.side, shape), shape),
      in(ends.queue(SharedMemoryLink::Side::host != ends.side, shape), shape) {}

SharedMemoryEndpoint::SharedMemoryEndpoint(Doorbell own, const QueueShape& shape,
                                           std::vector<SharedMemoryLink> links)
    : own_(std::move(own)), shape_(shape) {
  CHECK(!links.empty());
  for (SharedMemoryLink& each : links) links_.emplace_back(std::move(each), shape);
  received_.reserve(kBatchMax);
}

// If there are several links, it is not known yet which of them the next datagram will take.
std::span<std::byte> SharedMemoryEndpoint::place() {
  return links_.size() == 1 ? links_.front().out.place() : std::span<std::byte>{};
}

void SharedMemoryEndpoint::send_apart(Neighbour to, std::span<const std::byte> head,
                                      std::span<const std::byte> payload) {
  const auto neighbour = static_cast<std::uint32_t>(to);
  CHECK_THAT(neighbour, <, neighbour_count());
  Link& link = links_[neighbour / shape_.channels];
  ++counters_.sent;
  if (link.broken.load(std::memory_order_relaxed) ||
      !link.out.push(neighbour % shape_.channels, head, payload)) {
    ++counters_.overflowed;
  }
  if (!link.out.has_room()) blocked_.store(true, std::memory_order_relaxed);
}

// The endpoint is blocked while any queue is full. The reader of that queue rings as soon as the
// queue has room.
void SharedMemoryEndpoint::flush() {
  for (Link& link : links_) {
    if (link.out.must_wake_reader()) link.ends.bell.ring();
  }
  if (!is_blocked()) return;
  bool blocked = false;
  for (Link& link : links_) {
    const bool is_full = !link.out.has_room() && link.out.await_room();
    if (link.out.is_broken()) link.broken.store(true, std::memory_order_relaxed);
    blocked = blocked || (is_full && !link.broken.load(std::memory_order_relaxed));
  }
  blocked_.store(blocked, std::memory_order_relaxed);
}

// Takes a few datagrams from each link in turn, because all links send to the same slots at about
// the same time.
std::span<const Received> SharedMemoryEndpoint::receive() {
  give_back();
  const std::size_t share = std::max<std::size_t>(1, kBatchMax / links_.size());
  for (std::size_t i = 0; i < links_.size() && received_.size() < kBatchMax; ++i) {
    take_from(next_link_, share);
    next_link_ = next_link_ + 1 == links_.size() ? 0 : next_link_ + 1;
  }
  return received_;
}

void SharedMemoryEndpoint::give_back() {
  received_.clear();
  for (Link& link : links_) {
    if (link.in.must_wake_writer()) link.ends.bell.ring();
  }
}

void SharedMemoryEndpoint::take_from(std::size_t index, std::size_t most) {
  Link& link = links_[index];
  if (link.broken.load(std::memory_order_relaxed)) return;
  for (std::size_t i = 0; i < most && received_.size() < kBatchMax; ++i) {
    const auto taken = link.in.take();
    if (!taken) break;
    const std::size_t neighbour = index * shape_.channels + taken->channel;
    received_.push_back({Neighbour{static_cast<std::uint32_t>(neighbour)}, taken->datagram});
  }
  if (link.in.is_broken()) link.broken.store(true, std::memory_order_relaxed);
}

void SharedMemoryEndpoint::wait_beside(base::Instant deadline, pollfd* other) {
  give_back();  // a writer may wait for room
  bool may_sleep = true;
  for (Link& link : links_) may_sleep = link.in.may_sleep() && may_sleep;
  if (may_sleep) {
    pollfd polled[2] = {{own_.descriptor(), POLLIN, 0}, other != nullptr ? *other : pollfd{}};
    timespec timeout = {};
    if (deadline != base::Instant::never()) {
      const std::int64_t left = std::max<std::int64_t>(0, (deadline - monotonic_now()).ns);
      timeout = {left / 1'000'000'000, left % 1'000'000'000};
    }
    ppoll(polled, other != nullptr ? 2 : 1, deadline == base::Instant::never() ? nullptr : &timeout,
          nullptr);
    if ((polled[0].revents & POLLIN) != 0) own_.silence();
  }
  for (Link& link : links_) link.in.stay_awake();
}

}  // namespace infold::io
