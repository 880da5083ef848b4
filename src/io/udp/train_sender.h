// SPDX-License-Identifier: Apache-2.0
//
// The sending half of a UDP socket. It gathers datagrams of one size to one list of destinations in
// a train, which the kernel cuts into datagrams (UDP_SEGMENT). If the kernel or the path lacks this
// offload, each datagram is a message of its own, and one system call sends many messages.
//
// A datagram's payload may stay where it is until flush(). Its header is copied into the train.
//
// A caller may write a datagram into a train before its destination is known. The sender then
// predicts the train: it takes the one that last followed the train of the previous datagram. If
// the prediction was wrong, it copies the datagram.
//
// Callers take turns, except that any thread may call is_blocked() at any time. This class does not
// own the socket.
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
  // `socket` must stay open as long as this object lives.
  TrainSender(int socket, const UdpOptions& options);

  // See the functions of the same names in UdpSocket.
  std::span<std::byte> place();
  void send(std::span<const SocketAddress> to, std::span<const std::byte> datagram,
            std::span<const std::byte> payload);
  void flush();
  bool is_blocked() const { return blocked_.load(std::memory_order_relaxed); }
  bool sends_trains() const { return sends_trains_; }
  const std::optional<NarrowPath>& narrow_path() const { return narrow_path_; }
  // Only the counters that concern sending are set.
  const UdpCounters& counters() const { return counters_; }

 private:
  // The kernel accepts messages of just under 64 KiB and cuts them into at most 64 segments.
  static constexpr std::size_t kTrainBytes = 65'000;
  static constexpr std::size_t kTrainDatagrams = 64;
  // Enough for the destinations that alternate: results go to all workers, answers to single ones.
  static constexpr std::size_t kTrains = 8;
  static constexpr std::size_t kMessages = 64;

  union Ancillary {
    cmsghdr header;
    char room[CMSG_SPACE(sizeof(std::uint16_t))];
  };

  struct Train {
    std::span<const SocketAddress> to;  // an empty train keeps its last destinations
    std::unique_ptr<std::byte[]> bytes;
    std::size_t held = 0;  // how much of `bytes` is in use
    // The train's bytes in order, partly in `bytes` and partly in payloads elsewhere. Adjacent
    // stretches are merged.
    std::array<iovec, 2 * kTrainDatagrams> stretches;
    std::size_t stretch_count = 0;
    std::size_t used = 0;            // the length of all stretches; 0: empty
    std::size_t datagram_bytes = 0;  // the length of every datagram; the last may be shorter
    bool closed = false;             // takes no more: the last one is shorter, or some are sent
    std::size_t next = 0;            // the train that followed this one last time
    // How far the kernel has taken the train.
    std::size_t to_done = 0;
    std::size_t bytes_done = 0;  // sent to to[to_done]

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

  // Destinations whose datagrams are sent one by one, because their path does not take trains.
  static constexpr std::size_t kWithoutTrainsMax = 64;
  std::array<SocketAddress, kWithoutTrainsMax> without_trains_;
  std::size_t without_trains_count_ = 0;
  std::size_t without_trains_next_ = 0;
  std::optional<NarrowPath> narrow_path_;

  std::array<Train, kTrains> trains_;
  std::size_t last_ = 0;  // the train that took the last datagram

  // The arguments of the system call.
  std::array<mmsghdr, kMessages> messages_;
  std::array<iovec, kMessages> parts_;
  std::array<Ancillary, kMessages> ancillary_;
};

}  // namespace infold::io
