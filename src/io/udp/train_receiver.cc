// SPDX-License-Identifier: Apache-2.0
//
// The kernel writes each message into a place of its own, and receive() hands out views of the
// datagrams there.
#include "io/udp/train_receiver.h"

#include <algorithm>
#include <cstring>
#include <netinet/udp.h>

namespace infold::io {
namespace {

// The length of the datagrams in a train, which the kernel reports in an ancillary message. 0 if
// the message is not a train.
std::size_t segment_bytes(msghdr& message) {
  for (cmsghdr* header = CMSG_FIRSTHDR(&message); header != nullptr;
       header = CMSG_NXTHDR(&message, header)) {
    if (header->cmsg_level != SOL_UDP || header->cmsg_type != UDP_GRO) continue;
    int bytes = 0;
    std::memcpy(&bytes, CMSG_DATA(header), sizeof(bytes));
    return static_cast<std::size_t>(bytes);
  }
  return 0;
}

}  // namespace

TrainReceiver::TrainReceiver(int socket, const UdpOptions& options)
    : socket_(socket), datagram_bytes_max_(options.datagram_bytes_max) {
  constexpr int kOn = 1;
  receives_trains_ =
      options.offload && setsockopt(socket, SOL_UDP, UDP_GRO, &kOn, sizeof(kOn)) == 0;
  // One byte more than the longest datagram, so that the kernel truncates and flags longer ones
  // only.
  message_bytes_ = receives_trains_ ? kTrainBytesMax : datagram_bytes_max_ + 1;
  // The memory is not cleared. That way, pages that no packet needs are never touched, and a socket
  // opens 1 ms sooner.
  room_ = std::make_unique_for_overwrite<std::byte[]>(kMessages * message_bytes_);
  for (std::size_t i = 0; i < kMessages; ++i) {
    parts_[i] = {room_.get() + i * message_bytes_, message_bytes_};
  }
  const std::size_t most = receives_trains_ ? kTrainBytesMax / kSegmentBytesMin : 1;
  arrivals_.reserve(kMessages * most);
}

std::span<const UdpSocket::Arrival> TrainReceiver::receive() {
  arrivals_.clear();
  for (std::size_t i = 0; i < kMessages; ++i) {
    msghdr& message = messages_[i].msg_hdr;
    message = {};
    message.msg_name = &names_[i];
    message.msg_namelen = sizeof(names_[i]);
    message.msg_iov = &parts_[i];
    message.msg_iovlen = 1;
    message.msg_control = &ancillary_[i];
    message.msg_controllen = sizeof(ancillary_[i]);
  }
  const int count = recvmmsg(socket_, messages_.data(), kMessages, MSG_DONTWAIT, nullptr);
  for (int i = 0; i < count; ++i) split(static_cast<std::size_t>(i));
  std::uint64_t bytes = 0;
  for (const UdpSocket::Arrival& arrival : arrivals_) bytes += arrival.datagram.size();
  datagrams_.fetch_add(arrivals_.size(), std::memory_order_relaxed);
  bytes_.fetch_add(bytes, std::memory_order_relaxed);
  calls_.fetch_add(count > 0 ? static_cast<std::uint64_t>(count) : 0, std::memory_order_relaxed);
  return arrivals_;
}

// Cuts one message into its datagrams.
void TrainReceiver::split(std::size_t index) {
  msghdr& message = messages_[index].msg_hdr;
  if ((message.msg_flags & MSG_TRUNC) != 0) return count_misfit();
  from_[index] =
      SocketAddress(reinterpret_cast<const sockaddr*>(&names_[index]), message.msg_namelen);
  const std::size_t length = messages_[index].msg_len;
  const std::size_t cut = segment_bytes(message);
  const std::size_t segment = cut == 0 ? length : cut;
  if (segment < kSegmentBytesMin) return count_misfit();
  std::span<const std::byte> rest(room_.get() + index * message_bytes_, length);
  while (!rest.empty()) {
    const std::size_t bytes = std::min(segment, rest.size());
    if (bytes <= datagram_bytes_max_) {
      arrivals_.push_back({&from_[index], rest.first(bytes)});
    } else {
      count_misfit();
    }
    rest = rest.subspan(bytes);
  }
}

void TrainReceiver::count(UdpCounters& counters) const {
  counters.datagrams_received = datagrams_.load(std::memory_order_relaxed);
  counters.bytes_received = bytes_.load(std::memory_order_relaxed);
  counters.misfits = misfits_.load(std::memory_order_relaxed);
  counters.calls_received = calls_.load(std::memory_order_relaxed);
}

}  // namespace infold::io
