// SPDX-License-Identifier: Apache-2.0
//
// One train for each destination at a time. A train that the kernel has no room for stays, and its
// part of the room with it. The room is written from its start again once no train is left.
#include "io/udp/train_sender.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <netinet/udp.h>

#include "io/address/route.h"

namespace infold::io {

// Whether a datagram of so many bytes may follow those of the train.
bool TrainSender::Train::has_room_for(std::size_t datagram) const {
  return !closed && datagram <= datagram_bytes && bytes + datagram <= kTrainBytes &&
         bytes < datagram_bytes * kTrainDatagrams;
}

// Requires: has_room_for() the datagram, or no datagram is there.
void TrainSender::Train::append(std::span<std::byte> datagram) {
  if (bytes == 0) {
    datagram_bytes = datagram.size();
    part_count = 0;
  }
  iovec* const last = part_count == 0 ? nullptr : &parts[part_count - 1];
  if (last != nullptr &&
      static_cast<std::byte*>(last->iov_base) + last->iov_len == datagram.data()) {
    last->iov_len += datagram.size();
  } else {
    parts[part_count++] = {datagram.data(), datagram.size()};
  }
  bytes += datagram.size();
  closed = datagram.size() < datagram_bytes;
}

TrainSender::TrainSender(int socket, const UdpOptions& options)
    : socket_(socket),
      datagram_bytes_max_(std::min(options.datagram_bytes_max, kTrainBytes)),
      keeps_blocked_(options.keeps_blocked),
      // Not cleared: pages that no packet needs are never touched.
      room_(std::make_unique_for_overwrite<std::byte[]>(kRoomBytes)) {
  int value = 0;
  socklen_t bytes = sizeof(value);
  sends_trains_ = options.offload && getsockopt(socket, SOL_UDP, UDP_SEGMENT, &value, &bytes) == 0;
}

std::span<std::byte> TrainSender::place() {
  if (trains_used_ == 0) room_used_ = 0;
  if (kRoomBytes - room_used_ < datagram_bytes_max_) {
    flush();
    if (trains_used_ != 0) return {};
    room_used_ = 0;
  }
  return {room_.get() + room_used_, datagram_bytes_max_};
}

void TrainSender::send(std::span<const SocketAddress> to, std::span<const std::byte> datagram) {
  if (datagram.empty() || datagram.size() > datagram_bytes_max_) {
    ++counters_.refused;
    return;
  }
  std::byte* at = room_.get() + room_used_;
  const bool is_in_place = datagram.data() == at;
  if (!is_in_place) at = place().data();
  Train* const train = at != nullptr ? train_for(to, datagram.size()) : nullptr;
  if (train == nullptr) {
    ++counters_.blocked;  // the kernel has not taken the earlier ones
    return;
  }
  // The datagram may be one that was sent before, and lie in the room itself.
  if (!is_in_place) std::memmove(at, datagram.data(), datagram.size());
  if (train->bytes == 0) {
    train->to = to;
    ++trains_used_;
  }
  train->append({at, datagram.size()});
  room_used_ = static_cast<std::size_t>(at - room_.get()) + datagram.size();
  counters_.datagrams_sent += to.size();
  counters_.bytes_sent += to.size() * datagram.size();
  // Now rather than before the next one, which is perhaps in its place by then.
  if (!train->closed && !train->has_room_for(train->datagram_bytes)) note_dispatch(*train);
}

void TrainSender::flush() {
  bool blocked = false;
  for (Train& train : trains_) {
    if (train.bytes > 0 && !dispatch(train)) blocked = true;
  }
  blocked_.store(blocked, std::memory_order_relaxed);
}

// The train that this datagram may join, or an empty one. Sends others to make room, and returns
// null where the kernel takes none of them.
TrainSender::Train* TrainSender::train_for(std::span<const SocketAddress> to, std::size_t bytes) {
  Train* empty = nullptr;
  for (Train& train : trains_) {
    if (train.bytes == 0) {
      empty = empty == nullptr ? &train : empty;
      continue;
    }
    if (train.to.data() != to.data() || train.to.size() != to.size()) continue;
    if (train.has_room_for(bytes)) return &train;
    note_dispatch(train);
    return train.bytes == 0 ? &train : nullptr;
  }
  if (empty != nullptr) return empty;
  for (Train& train : trains_) {
    note_dispatch(train);
    if (train.bytes == 0) return &train;
  }
  return nullptr;
}

void TrainSender::note_dispatch(Train& train) {
  if (!dispatch(train)) blocked_.store(true, std::memory_order_relaxed);
}

// Hands a train to the kernel; false if some of it stays. Nothing is added to such a train.
bool TrainSender::dispatch(Train& train) {
  train.closed = true;
  while (train.to_done < train.to.size()) {
    const std::size_t messages = lay_out(train);
    const int taken = sendmmsg(socket_, messages_.data(), static_cast<unsigned>(messages),
                               MSG_DONTWAIT | MSG_NOSIGNAL);
    if (taken > 0) {
      for (int i = 0; i < taken; ++i) advance(train, message_bytes_[static_cast<std::size_t>(i)]);
      counters_.calls_sent += static_cast<std::uint64_t>(taken);
      continue;
    }
    if (errno == EINTR) continue;
    if (errno == EAGAIN || errno == EWOULDBLOCK || errno == ENOBUFS) {
      if (keeps_blocked_) return false;
      skip(train, counters_.blocked);
    } else if (message_bytes_[0] > train.datagram_bytes) {
      // A device or a tunnel that cannot cut trains, or an address that is none. Single datagrams
      // show which, and other destinations keep their trains.
      note_without_trains(train.to[train.to_done]);
    } else if (errno == EMSGSIZE) {
      note_narrow(train.to[train.to_done]);
      skip(train, counters_.too_long);
    } else {
      skip(train, counters_.refused);
    }
  }
  train.bytes = train.to_done = train.bytes_done = 0;
  train.closed = false;
  --trains_used_;
  return true;
}

// Messages for what has not gone out, as many as there is room for.
std::size_t TrainSender::lay_out(Train& train) {
  std::size_t count = 0;
  for (std::size_t to = train.to_done; to < train.to.size() && count < kMessages; ++to) {
    const bool is_begun = to == train.to_done && train.bytes_done > 0;
    if (is_begun || !takes_trains(train.to[to])) {
      count = lay_out_singly(train, to, count);
      continue;
    }
    write_message(count, train.to[to], std::span(train.parts).first(train.part_count));
    message_bytes_[count] = train.bytes;
    if (train.bytes > train.datagram_bytes) mark_as_train(count, train.datagram_bytes);
    ++count;
  }
  return count;
}

// A message for each datagram that has not gone to that destination. Returns how many there are
// with the `count` before.
std::size_t TrainSender::lay_out_singly(const Train& train, std::size_t to, std::size_t count) {
  std::size_t done = to == train.to_done ? train.bytes_done : 0;
  for (const iovec& part : std::span(train.parts).first(train.part_count)) {
    std::size_t at = std::min(done, part.iov_len);
    done -= at;
    while (at < part.iov_len && count < kMessages) {
      const std::size_t bytes = std::min(train.datagram_bytes, part.iov_len - at);
      datagrams_[count] = {static_cast<std::byte*>(part.iov_base) + at, bytes};
      message_bytes_[count] = bytes;
      write_message(count, train.to[to], {&datagrams_[count], 1});
      ++count;
      at += bytes;
    }
  }
  return count;
}

bool TrainSender::takes_trains(const SocketAddress& to) const {
  const auto end = without_trains_.begin() + static_cast<std::ptrdiff_t>(without_trains_count_);
  return sends_trains_ && std::find(without_trains_.begin(), end, to) == end;
}

// Where there are more than the table holds, each in turn costs a call that fails.
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

void TrainSender::write_message(std::size_t index, const SocketAddress& to,
                                std::span<iovec> parts) {
  msghdr& message = messages_[index].msg_hdr;
  message = {};
  message.msg_name = const_cast<sockaddr*>(to.data());
  message.msg_namelen = to.bytes();
  message.msg_iov = parts.data();
  message.msg_iovlen = parts.size();
}

// Tells the kernel to cut the message into datagrams of this length.
void TrainSender::mark_as_train(std::size_t index, std::size_t datagram_bytes) {
  msghdr& message = messages_[index].msg_hdr;
  message.msg_control = &controls_[index];
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
  if (train.bytes_done < train.bytes) return;
  train.bytes_done = 0;
  ++train.to_done;
}

// Gives up one message.
void TrainSender::skip(Train& train, std::uint64_t& counter) {
  const std::size_t bytes = message_bytes_[0];
  counter += (bytes + train.datagram_bytes - 1) / train.datagram_bytes;
  advance(train, bytes);
}

}  // namespace infold::io
