// SPDX-License-Identifier: Apache-2.0
//
// A queue is a circular buffer of datagrams. Senders copy datagrams into it under a mutex. The
// receiver reads a batch in place, and the next receive() frees the places of that batch.
#include "io/memory_endpoint.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstring>

#include "base/check.h"
#include "base/mutex.h"

namespace infold::io {
namespace {

// Large enough to spread the cost of the mutex over many datagrams, but small enough that the first
// packets of a burst are answered before the last ones arrive.
constexpr std::size_t kBatchMax = 32;

}  // namespace

class MemoryEndpoint::Queue {
 public:
  explicit Queue(const MemoryEndpointOptions& options)
      : stride_(options.datagram_bytes_max),
        places_(options.queue_datagrams),
        bytes_(std::make_unique_for_overwrite<std::byte[]>(stride_ * options.queue_datagrams)) {
    CHECK_THAT(options.queue_datagrams, >=, 1);
  }

  // Returns false if the datagram was dropped.
  bool push(Neighbour from, std::span<const std::byte> datagram) {
    if (datagram.size() > stride_) return false;
    bool receiver_sleeps = false;
    {
      const base::MutexLock lock(mutex_);
      if (count_ == places_.size()) return false;
      const std::size_t place = (first_ + count_) % places_.size();
      std::copy(datagram.begin(), datagram.end(), bytes_at(place));
      places_[place] = {from, datagram.size()};
      ++count_;
      receiver_sleeps = sleeps_;
    }
    if (receiver_sleeps) readiness_.notify_one();
    return true;
  }

  std::span<const Received> take_batch() {
    const base::MutexLock lock(mutex_);
    first_ = (first_ + lent_) % places_.size();
    count_ -= lent_;
    lent_ = std::min(count_, kBatchMax);
    for (std::size_t i = 0; i < lent_; ++i) {
      const std::size_t place = (first_ + i) % places_.size();
      batch_[i] = {places_[place].from, {bytes_at(place), places_[place].bytes}};
    }
    return {batch_.data(), lent_};
  }

  void wait(base::Instant deadline) {
    base::MutexLock lock(mutex_);
    sleeps_ = true;
    const auto ready = [this]() REQUIRES(mutex_) { return woken_ || count_ > lent_; };
    if (deadline == base::Instant::never()) {
      while (!ready()) readiness_.wait(lock);
    } else {
      const std::chrono::steady_clock::time_point until{std::chrono::nanoseconds(deadline.ns)};
      readiness_.wait_until(lock, until, ready);
    }
    sleeps_ = false;
    woken_ = false;
  }

  void wake() {
    {
      const base::MutexLock lock(mutex_);
      woken_ = true;
    }
    readiness_.notify_one();
  }

 private:
  struct Place {
    Neighbour from{};
    std::size_t bytes = 0;
  };

  std::byte* bytes_at(std::size_t place) const { return bytes_.get() + place * stride_; }

  const std::size_t stride_;
  base::Mutex mutex_;
  base::ConditionVariable readiness_;
  std::vector<Place> places_ GUARDED_BY(mutex_);
  std::unique_ptr<std::byte[]> bytes_;
  std::size_t first_ GUARDED_BY(mutex_) = 0;  // the oldest datagram's place
  std::size_t count_ GUARDED_BY(mutex_) = 0;  // includes the lent ones
  std::size_t lent_ GUARDED_BY(mutex_) = 0;   // how many of the oldest the receiver is reading
  bool sleeps_ GUARDED_BY(mutex_) = false;
  bool woken_ GUARDED_BY(mutex_) = false;
  std::array<Received, kBatchMax> batch_;
};

MemoryEndpoint::MemoryEndpoint(const MemoryEndpointOptions& options)
    : queue_(std::make_shared<Queue>(options)) {}

MemoryEndpoint::~MemoryEndpoint() = default;

std::pair<Neighbour, Neighbour> MemoryEndpoint::connect(MemoryEndpoint& first,
                                                        MemoryEndpoint& second) {
  const auto number_of_second = static_cast<Neighbour>(first.links_.size());
  first.links_.push_back({second.queue_, {}});
  const auto number_of_first = static_cast<Neighbour>(second.links_.size());
  second.links_.push_back({first.queue_, number_of_second});
  first.links_[static_cast<std::size_t>(number_of_second)].own_number = number_of_first;
  return {number_of_second, number_of_first};
}

void MemoryEndpoint::send(Neighbour to, std::span<const std::byte> datagram) {
  CHECK_THAT(static_cast<std::size_t>(to), <, links_.size());
  const Link& link = links_[static_cast<std::size_t>(to)];
  ++counters_.sent;
  if (!link.queue->push(link.own_number, datagram)) ++counters_.overflowed;
}

std::span<const Received> MemoryEndpoint::receive() { return queue_->take_batch(); }

void MemoryEndpoint::wait(base::Instant deadline) { queue_->wait(deadline); }

void MemoryEndpoint::wake() { queue_->wake(); }

}  // namespace infold::io
