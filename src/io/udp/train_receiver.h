// SPDX-License-Identifier: Apache-2.0
//
// The receiving half of a UDP socket. It reads up to 16 messages with one system call and cuts each
// into datagrams. Where the kernel coalesces datagrams (UDP_GRO), a message may be a train of them.
//
// One thread receives. Other threads may read the counters. This class does not own the socket.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <sys/socket.h>
#include <vector>

#include "io/udp/udp_socket.h"

namespace infold::io {

class TrainReceiver {
 public:
  // `socket` must stay open as long as this object lives.
  TrainReceiver(int socket, const UdpOptions& options);

  // See UdpSocket::receive().
  std::span<const UdpSocket::Arrival> receive();
  bool receives_trains() const { return receives_trains_; }
  // Sets the counters that concern receiving.
  void count(UdpCounters& counters) const;

 private:
  static constexpr std::size_t kMessages = 16;
  static constexpr std::size_t kTrainBytesMax = 1 << 16;
  // Each of our packets has at least a header, so a message with shorter segments is not ours and
  // is dropped.
  static constexpr std::size_t kSegmentBytesMin = 32;

  union Ancillary {
    cmsghdr header;
    char room[CMSG_SPACE(sizeof(int))];
  };

  void split(std::size_t index);
  void count_misfit() { misfits_.fetch_add(1, std::memory_order_relaxed); }

  int socket_;
  std::size_t datagram_bytes_max_;
  bool receives_trains_ = false;
  std::size_t message_bytes_ = 0;

  std::unique_ptr<std::byte[]> room_;  // message_bytes_ for each message
  std::array<mmsghdr, kMessages> messages_;
  std::array<iovec, kMessages> parts_;
  std::array<sockaddr_storage, kMessages> names_;
  std::array<SocketAddress, kMessages> from_;
  std::array<Ancillary, kMessages> ancillary_;
  std::vector<UdpSocket::Arrival> arrivals_;

  std::atomic<std::uint64_t> datagrams_{0};
  std::atomic<std::uint64_t> bytes_{0};
  std::atomic<std::uint64_t> misfits_{0};
  std::atomic<std::uint64_t> calls_{0};
};

}  // namespace infold::io
