// SPDX-License-Identifier: Apache-2.0
//
// The sending half of a UDP socket: gathers datagrams of one size to one list of destinations in a
// train, which the kernel cuts into datagrams (UDP_SEGMENT). Where a kernel or a path has no such
// offload, each datagram is a message, and one system call takes many.
//
// A datagram's payload may stay where it is until flush(). Its header lies in the train.
//
// A datagram may be written into a train before its destination is known. The sender predicts the
// train: the one that followed the last train before. It copies the datagram if that was wrong.
//
// Callers take turns. Any thread may call is_blocked(). Does not own the socket.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <sys/socket.h>

#include "io/udp/udp_socket.h"

namespace infold::io {

class TrainSender {
 public:
  // `socket` stays open as long as this lives.
  TrainSender(int socket, const UdpOptions& options);

  // As those of UdpSocket.
  std::span<std::byte> place();
  void send(std::span<const SocketAddress> to, std::span<const std::byte> datagram,
            std::span<const std::byte> payload);
  void flush();
  bool is_blocked() const { return blocked_.load(std::memory_order_relaxed); }
  bool sends_trains() const { return sends_trains_; }
  const std::optional<NarrowPath>& narrow_path() const { return narrow_path_; }
  // Only those of sending are set.
  const UdpCounters& counters() const { return counters_; }

 private:
  // The kernel takes no longer message, and cuts it into at most 64 segments.
  static constexpr std::size_t kTrainBytes = 65'000;
  static constexpr std::size_t kTrainDatagrams = 64;
  // Destinations in turn: results to all workers, answers to single ones.
  static constexpr std::size_t kTrains = 8;
  static constexpr std::size_t kMessages = 64;

  union Control {
    cmsghdr header;
    char room[CMSG_SPACE(sizeof(std::uint16_t))];
  };

  struct Train {
    std::span<const SocketAddress> to;  // of an empty train: the last destination
    std::unique_ptr<std::byte[]> bytes;
    std::size_t held = 0;  // in `bytes`
    // The train in order, in `bytes` and in payloads elsewhere. Neighbours are joined.
    std::array<iovec, 2 * kTrainDatagrams> stretches;
    std::size_t stretch_count = 0;
    std::size_t used = 0;            // of all stretches; 0: empty
    std::size_t datagram_bytes = 0;  // of each datagram, except that the last may be shorter
    bool closed = false;   // takes no more: the last datagram is shorter, or some have gone
    std::size_t next = 0;  // the train that followed this one last time
    // The progress of sending.
    std::size_t to_done = 0;
    std::size_t bytes_done = 0;  // to to[to_done]

    bool has_room_for(std::size_t datagram) const;
    void add(const std::byte* first, std::size_t count);
    void gather();
  };

  Train* train_for(std::span<const SocketAddress> to, std::size_t bytes);
  void note_dispatch(Train& train);
  bool dispatch(Train& train);
  std::size_t lay_out(Train& train);
  bool takes_trains(const SocketAddress& to) const;
  void note_without_trains(const SocketAddress& to);
  void note_narrow(const SocketAddress& to);
  void address_message(std::size_t index, const SocketAddress& to, std::size_t datagram_bytes);
  static void advance(Train& train, std::size_t bytes);
  void skip(Train& train, std::uint64_t& counter);

  int socket_;
  std::size_t datagram_bytes_max_;
  bool keeps_blocked_;
  bool sends_trains_ = false;
  std::atomic<bool> blocked_{false};
  UdpCounters counters_;

  // Destinations whose datagrams are sent singly.
  static constexpr std::size_t kWithoutTrainsMax = 64;
  std::array<SocketAddress, kWithoutTrainsMax> without_trains_;
  std::size_t without_trains_count_ = 0;
  std::size_t without_trains_next_ = 0;
  std::optional<NarrowPath> narrow_path_;

  std::array<Train, kTrains> trains_;
  std::size_t last_ = 0;  // the train of the last datagram

  // For the system call.
  std::array<mmsghdr, kMessages> messages_;
  std::array<iovec, kMessages> parts_;
  std::array<Control, kMessages> controls_;
};

}  // namespace infold::io
