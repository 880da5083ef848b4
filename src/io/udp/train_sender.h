// SPDX-License-Identifier: Apache-2.0
//
// The sending half of a UDP socket: gathers datagrams of one size to one list of destinations in a
// train, which the kernel cuts into datagrams (UDP_SEGMENT). Where a kernel or a path has no such
// offload, each datagram is a message, and one system call takes many.
//
// All trains have their datagrams in one room, in the order in which they were sent. A train is a
// list of the stretches of the room that it takes. So a datagram may be written in the room before
// anybody knows its destination, and the kernel reads it there.
//
// Its callers take turns. Any thread may call is_blocked(). Does not own the socket.
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

  // All as UdpSocket's.
  std::span<std::byte> place();
  void send(std::span<const SocketAddress> to, std::span<const std::byte> datagram);
  void flush();
  bool is_blocked() const { return blocked_.load(std::memory_order_relaxed); }
  bool sends_trains() const { return sends_trains_; }
  const std::optional<NarrowPath>& narrow_path() const { return narrow_path_; }
  // Of what was sent.
  const UdpCounters& counters() const { return counters_; }

 private:
  // A datagram of maximal length holds so much, and the kernel cuts it into at most 64 segments.
  static constexpr std::size_t kTrainBytes = 65'000;
  static constexpr std::size_t kTrainDatagrams = 64;
  // Destinations in turn: results to all workers, answers to single ones.
  static constexpr std::size_t kTrains = 8;
  static constexpr std::size_t kRoomBytes = kTrains * kTrainBytes;
  static constexpr std::size_t kMessages = 64;

  union Control {
    cmsghdr header;
    char room[CMSG_SPACE(sizeof(std::uint16_t))];
  };

  // Empty while `bytes` is 0.
  struct Train {
    std::span<const SocketAddress> to;
    // Neighbours in the room are one part. Each part is whole datagrams.
    std::array<iovec, kTrainDatagrams> parts;
    std::size_t part_count = 0;
    std::size_t bytes = 0;
    std::size_t datagram_bytes = 0;  // of each but perhaps the last
    bool closed = false;             // its last datagram is a shorter one, or some of it has gone
    // How far it has gone out.
    std::size_t to_done = 0;
    std::size_t bytes_done = 0;  // towards to[to_done]

    bool has_room_for(std::size_t datagram) const;
    void append(std::span<std::byte> datagram);
  };

  Train* train_for(std::span<const SocketAddress> to, std::size_t bytes);
  void note_dispatch(Train& train);
  bool dispatch(Train& train);
  std::size_t lay_out(Train& train);
  std::size_t lay_out_singly(const Train& train, std::size_t to, std::size_t count);
  bool takes_trains(const SocketAddress& to) const;
  void note_without_trains(const SocketAddress& to);
  void note_narrow(const SocketAddress& to);
  void write_message(std::size_t index, const SocketAddress& to, std::span<iovec> parts);
  void mark_as_train(std::size_t index, std::size_t datagram_bytes);
  static void advance(Train& train, std::size_t bytes);
  void skip(Train& train, std::uint64_t& counter);

  int socket_;
  std::size_t datagram_bytes_max_;
  bool keeps_blocked_;
  bool sends_trains_ = false;
  std::atomic<bool> blocked_{false};
  UdpCounters counters_;

  // Destinations that get single datagrams.
  static constexpr std::size_t kWithoutTrainsMax = 64;
  std::array<SocketAddress, kWithoutTrainsMax> without_trains_;
  std::size_t without_trains_count_ = 0;
  std::size_t without_trains_next_ = 0;
  std::optional<NarrowPath> narrow_path_;

  std::unique_ptr<std::byte[]> room_;
  std::size_t room_used_ = 0;
  std::array<Train, kTrains> trains_;
  std::size_t trains_used_ = 0;

  // Of the system call that sends.
  std::array<mmsghdr, kMessages> messages_;
  std::array<std::size_t, kMessages> message_bytes_;
  std::array<iovec, kMessages> datagrams_;  // that are a message each
  std::array<Control, kMessages> controls_;
};

}  // namespace infold::io
