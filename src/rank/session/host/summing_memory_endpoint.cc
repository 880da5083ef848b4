// SPDX-License-Identifier: Apache-2.0
#include "rank/session/host/summing_memory_endpoint.h"

#include <utility>

#include "base/check.h"
#include "core/near_memory.h"

namespace infold::rank {
namespace {

// More answers than slots and repeats wait only if the worker does not receive. The rest is then
// dropped, as a full queue would drop it.
constexpr std::size_t kCopiesMax = 256;
// Answers up to this length are copied, because an aggregator does not keep them.
constexpr std::size_t kShortMax = 64;

}  // namespace

SummingMemoryEndpoint::SummingMemoryEndpoint(std::unique_ptr<io::SharedMemoryEndpoint> memory,
                                             std::uint16_t rank,
                                             const std::optional<core::AggregatorOptions>& site)
    : rank_(rank), memory_(std::move(memory)) {
  if (!site) return;
  workers_ = static_cast<std::uint32_t>(site->workers.size());
  CHECK_THAT(memory_->neighbour_count(), ==, (workers_ - 1) * std::size_t{channel_count});
  CHECK_THAT(rank, <, workers_);
  site_.emplace(*site);
  own_.reserve(site->datagram_bytes_max);
}

SummingMemoryEndpoint::~SummingMemoryEndpoint() {
  if (site_) {
    site_->end({core::AbortReason::stopped, 0, 0, {}, {}});
    send_answers();
    memory_->flush();
  }
  if (sends_) unlock_after_sending();
}

void SummingMemoryEndpoint::Answers::clear() {
  results.clear();
  copies.clear();
  copy_bytes.clear();
}

// A rank does not have a link to itself.
io::Neighbour SummingMemoryEndpoint::neighbour_of(std::uint32_t rank, Channel channel) const {
  const std::uint32_t link = rank < rank_ ? rank : rank - 1;
  return io::Neighbour{link * channel_count + channel};
}

std::uint32_t SummingMemoryEndpoint::rank_of(io::Neighbour neighbour) const {
  const std::uint32_t link = static_cast<std::uint32_t>(neighbour) / channel_count;
  return link < rank_ ? link : link + 1;
}

void SummingMemoryEndpoint::lock_for_sending() {
  if (!std::exchange(sends_, true)) mutex_.lock();
}

void SummingMemoryEndpoint::unlock_after_sending() {
  sends_ = false;
  mutex_.unlock();
}

void SummingMemoryEndpoint::send_apart(io::Neighbour to, std::span<const std::byte> head,
                                       std::span<const std::byte> payload) {
  lock_for_sending();
  ++sent_;
  if (!is_own(to)) {
    memory_->send_apart(neighbour_of(static_cast<std::uint32_t>(to), to_site), head, payload);
  } else if (payload.empty()) {
    handle(head, rank_);
  } else {
    own_.assign(head.begin(), head.end());
    own_.insert(own_.end(), payload.begin(), payload.end());
    handle(own_, rank_);
  }
}

void SummingMemoryEndpoint::flush() {
  lock_for_sending();
  memory_->flush();
  const bool receiver_sleeps = sleeps_ && !answers_.empty();
  unlock_after_sending();
  if (receiver_sleeps) memory_->wake();
}

std::span<const io::Received> SummingMemoryEndpoint::receive() {
  received_.clear();
  served_ = 0;
  const base::MutexLock lock(mutex_);
  const std::span<const io::Received> batch = memory_->receive();
  for (std::size_t i = 0; i < batch.size(); ++i) {
    const io::Received& each = batch[i];
    if (i + 1 < batch.size()) {
      const std::span<const std::byte> next = batch[i + 1].datagram;
      core::bring_near(next.data(), next.size());
    }
    const std::uint32_t from = rank_of(each.from);
    if (static_cast<std::uint32_t>(each.from) % channel_count == from_site) {
      received_.push_back({io::Neighbour{from}, each.datagram});
    } else if (site_) {
      ++served_;
      handle(each.datagram, from);
    }
  }
  if (served_ > 0) memory_->flush();
  take_answers();
  return received_;
}

void SummingMemoryEndpoint::take_answers() {
  std::swap(answers_, taken_);
  answers_.clear();
  for (const std::span<const std::byte> result : taken_.results) {
    received_.push_back({io::Neighbour{rank_}, result});
  }
  std::size_t at = 0;
  for (const std::size_t bytes : taken_.copy_bytes) {
    received_.push_back({io::Neighbour{rank_}, std::span(taken_.copies).subspan(at, bytes)});
    at += bytes;
  }
}

void SummingMemoryEndpoint::wait(base::Instant deadline) {
  {
    const base::MutexLock lock(mutex_);
    if (!answers_.empty()) return;
    sleeps_ = true;
  }
  memory_->wait(deadline);
  const base::MutexLock lock(mutex_);
  sleeps_ = false;
}

// A worker cannot send packets in another worker's name, because its link identifies it.
void SummingMemoryEndpoint::handle(std::span<const std::byte> datagram, std::uint32_t from) {
  site_->handle_datagram(datagram, {core::Source::Side::below, static_cast<std::uint8_t>(from)});
  send_answers();
}

void SummingMemoryEndpoint::send_answers() {
  while (const auto transmit = site_->poll_transmit()) {
    if (transmit->to == core::Aggregator::To::worker) {
      answer(transmit->worker, transmit->datagram, false);
      continue;
    }
    for (std::uint32_t worker = 0; worker < workers_; ++worker) {
      answer(worker, transmit->datagram_for(worker), true);
    }
  }
}

void SummingMemoryEndpoint::answer(std::uint32_t worker, std::span<const std::byte> datagram,
                                   bool is_result) {
  if (worker != rank_) {
    memory_->send(neighbour_of(worker, from_site), datagram);
  } else if (is_result && datagram.size() > kShortMax) {
    answers_.results.push_back(datagram);
  } else if (answers_.copy_bytes.size() < kCopiesMax) {
    answers_.copies.insert(answers_.copies.end(), datagram.begin(), datagram.end());
    answers_.copy_bytes.push_back(datagram.size());
  }
}

io::EndpointCounters SummingMemoryEndpoint::counters() const {
  io::EndpointCounters counters;
  if (sends_) {
    counters = memory_->counters();
  } else {
    // A thread that receives also sends on behalf of the site.
    const base::MutexLock lock(mutex_);
    counters = memory_->counters();
  }
  counters.sent = sent_;
  return counters;
}

}  // namespace infold::rank
