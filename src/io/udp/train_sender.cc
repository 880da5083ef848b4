// SPDX-License-Identifier: Apache-2.0
//
// Each list of destinations has at most one train at a time. Datagrams that the kernel has no room
// for stay in their train. After flush(), no train refers to a caller's payloads.
#include "io/udp/train_sender.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <netinet/udp.h>
#include <utility>

#include "io/address/route.h"

namespace infold::io {

// Whether a datagram of this length may join the train.
bool TrainSender::Train::has_room_for(std::size_t datagram) const {
  if (used == 0) return true;
  return !closed && datagram <= datagram_bytes && used + datagram <= kTrainBytes &&
         used < datagram_bytes * kTrainDatagrams;
}

void TrainSender::Train::add(const std::byte* first, std::size_t count) {
  if (count == 0) return;
  if (stretch_count > 0) {
    iovec& last = stretches[stretch_count - 1];
    if (static_cast<std::byte*>(last.iov_base) + last.iov_len == first) {
      last.iov_len += count;
      return;
    }
  }
  stretches[stretch_count++] = {const_cast<std::byte*>(first), count};
}

// Copies the payloads that lie elsewhere to their places between the stretches in `bytes`. Those
// stretches move towards the end, so the loop starts with the last one.
void TrainSender::Train::gather() {
  if (stretch_count <= 1) return;
  std::byte* at = bytes.get() + used;
  for (std::size_t i = stretch_count; i-- > 0;) {
    at -= stretches[i].iov_len;
    std::memmove(at, stretches[i].iov_base, stretches[i].iov_len);
  }
  held = used;
  stretches[0] = {bytes.get(), used};
  stretch_count = 1;
}

TrainSender::TrainSender(int socket, const UdpOptions& options)
    : socket_(socket),
      datagram_bytes_max_(std::min(options.datagram_bytes_max, kTrainBytes)),
      keeps_blocked_(options.keeps_blocked) {
  int value = 0;
  socklen_t bytes = sizeof(value);
  sends_trains_ = options.offload && getsockopt(socket, SOL_UDP, UDP_SEGMENT, &value, &bytes) == 0;
  // The memory is not cleared, so pages that no packet needs are never touched. It is longer than a
  // train, because place() needs room for a datagram behind any train.
  for (Train& train : trains_) {
    train.bytes = std::make_unique_for_overwrite<std::byte[]>(kTrainBytes + datagram_bytes_max_);
  }
}

std::span<std::byte> TrainSender::place() {
  const Train& train = trains_[trains_[last_].next];
  if (train.closed) return {};
  return {train.bytes.get() + train.held, datagram_bytes_max_};
}

void TrainSender::send(std::span<const SocketAddress> to, std::span<const std::byte> datagram,
                       std::span<const std::byte> payload) {
  const std::size_t bytes = datagram.size() + payload.size();
  if (bytes == 0 || bytes > datagram_bytes_max_) {
    ++counters_.refused;
    return;
  }
  Train* const train = train_for(to, bytes);
  if (train == nullptr) {
    ++counters_.blocked;
    return;
  }
  if (train->used == 0) {
    train->to = to;
    train->datagram_bytes = bytes;
  }
  // memmove(), because a datagram that is sent a second time may still lie in this train.
  std::byte* const at = train->bytes.get() + train->held;
  if (datagram.data() != at) std::memmove(at, datagram.data(), datagram.size());
  train->held += datagram.size();
  train->add(at, datagram.size());
  train->add(payload.data(), payload.size());
  train->used += bytes;
  train->closed = bytes < train->datagram_bytes;
  const auto index = static_cast<std::size_t>(train - trains_.data());
  trains_[std::exchange(last_, index)].next = index;
  counters_.datagrams_sent += to.size();
  counters_.bytes_sent += to.size() * bytes;
  // Send a full train now, so that the place of the next datagram is at the start of the train.
  if (!train->closed && !train->has_room_for(train->datagram_bytes)) note_dispatch(*train);
}

void TrainSender::flush() {
  bool blocked = false;
  for (Train& train : trains_) {
    if (train.used > 0 && !dispatch(train)) blocked = true;
  }
  blocked_.store(blocked, std::memory_order_relaxed);
}

// Finds the train that this datagram may join, or an empty one. Sends trains to make room. Returns
// null if the kernel does not take enough to free a train.
TrainSender::Train* TrainSender::train_for(std::span<const SocketAddress> to, std::size_t bytes) {
  Train* empty = nullptr;
  for (Train& train : trains_) {
    if (train.to.data() == to.data() && train.to.size() == to.size()) {
      if (train.has_room_for(bytes)) return &train;
      note_dispatch(train);
      return train.used == 0 ? &train : nullptr;
    }
    if (train.used == 0 && empty == nullptr) empty = &train;
  }
  if (empty != nullptr) return empty;
  for (Train& train : trains_) {
    note_dispatch(train);
    if (train.used == 0) return &train;
  }
  return nullptr;
}

void TrainSender::note_dispatch(Train& train) {
  if (!dispatch(train)) blocked_.store(true, std::memory_order_relaxed);
}

// Gives a train to the kernel. Returns false if some of it stays; such a train takes no more
// datagrams.
bool TrainSender::dispatch(Train& train) {
  train.closed = true;
  while (train.to_done < train.to.size()) {
    const std::size_t messages = lay_out(train);
    const int taken = sendmmsg(socket_, messages_.data(), static_cast<unsigned>(messages),
                               MSG_DONTWAIT | MSG_NOSIGNAL);
    if (taken > 0) {
      for (int i = 0; i < taken; ++i) advance(train, parts_[static_cast<std::size_t>(i)].iov_len);
      counters_.calls_sent += static_cast<std::uint64_t>(taken);
      continue;
    }
    if (errno == EINTR) continue;
    // The train may outlive this call, but the payloads that it refers to may not.
    train.gather();
    if (errno == EAGAIN || errno == EWOULDBLOCK || errno == ENOBUFS) {
      if (keeps_blocked_) return false;
      skip(train, counters_.blocked);
    } else if (parts_[0].iov_len > train.datagram_bytes) {
      // Either the device or tunnel cannot cut trains, or the address is wrong. Single datagrams
      // will show which of the two it is. Other destinations keep their trains.
      note_without_trains(train.to[train.to_done]);
    } else if (errno == EMSGSIZE) {
      note_narrow(train.to[train.to_done]);
      skip(train, counters_.too_long);
    } else {
      skip(train, counters_.refused);
    }
  }
  train.used = train.held = train.stretch_count = train.to_done = train.bytes_done = 0;
  train.closed = false;
  return true;
}

// Lays out as many messages as fit for the rest of the train. A train in several stretches goes out
// as one message if possible, and otherwise is gathered first.
std::size_t TrainSender::lay_out(Train& train) {
  if (train.stretch_count > 1 && train.to.size() == 1 && takes_trains(train.to[0])) {
    parts_[0] = {train.bytes.get(), train.used};
    address_message(0, train.to[0], train.datagram_bytes);
    messages_[0].msg_hdr.msg_iov = train.stretches.data();
    messages_[0].msg_hdr.msg_iovlen = train.stretch_count;
    return 1;
  }
  train.gather();
  std::size_t count = 0;
  std::size_t at = train.bytes_done;
  for (std::size_t to = train.to_done; to < train.to.size(); ++to, at = 0) {
    const bool whole = takes_trains(train.to[to]);
    while (at < train.used && count < kMessages) {
      const std::size_t left = train.used - at;
      const std::size_t bytes = whole ? left : std::min(left, train.datagram_bytes);
      parts_[count] = {train.bytes.get() + at, bytes};
      address_message(count++, train.to[to], train.datagram_bytes);
      at += bytes;
    }
    if (count == kMessages) break;
  }
  return count;
}

bool TrainSender::takes_trains(const SocketAddress& to) const {
  const auto end = without_trains_.begin() + static_cast<std::ptrdiff_t>(without_trains_count_);
  return sends_trains_ && std::find(without_trains_.begin(), end, to) == end;
}

// If there are more such destinations than the table holds, each of them costs a failing system
// call whenever the table has dropped it.
void TrainSender::note_without_trains(const SocketAddress& to) {
  without_trains_[without_trains_next_] = to;
  without_trains_next_ = (without_trains_next_ + 1) % kWithoutTrainsMax;
  without_trains_count_ = std::min(without_trains_count_ + 1, kWithoutTrainsMax);
}

void TrainSender::note_narrow(const SocketAddress& to) {
  if (narrow_path_) return;
  const base::Result<Route> route = route_to(to);
  narrow_path_ = NarrowPath{to, route ? route->mtu_bytes : 0};
}

void TrainSender::address_message(std::size_t index, const SocketAddress& to,
                                  std::size_t datagram_bytes) {
  msghdr& message = messages_[index].msg_hdr;
  message = {};
  message.msg_name = const_cast<sockaddr*>(to.data());
  message.msg_namelen = to.bytes();
  message.msg_iov = &parts_[index];
  message.msg_iovlen = 1;
  if (parts_[index].iov_len <= datagram_bytes) return;
  Ancillary& ancillary = ancillary_[index];
  message.msg_control = &ancillary;
  message.msg_controllen = CMSG_SPACE(sizeof(std::uint16_t));
  cmsghdr* const header = CMSG_FIRSTHDR(&message);
  header->cmsg_level = SOL_UDP;
  header->cmsg_type = UDP_SEGMENT;
  header->cmsg_len = CMSG_LEN(sizeof(std::uint16_t));
  const auto segment = static_cast<std::uint16_t>(datagram_bytes);
  std::memcpy(CMSG_DATA(header), &segment, sizeof(segment));
}

void TrainSender::advance(Train& train, std::size_t bytes) {
  train.bytes_done += bytes;
  if (train.bytes_done < train.used) return;
  train.bytes_done = 0;
  ++train.to_done;
}

// Gives up the first message that was laid out.
void TrainSender::skip(Train& train, std::uint64_t& counter) {
  const std::size_t bytes = parts_[0].iov_len;
  counter += (bytes + train.datagram_bytes - 1) / train.datagram_bytes;
  advance(train, bytes);
}

}  // namespace infold::io
