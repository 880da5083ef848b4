// SPDX-License-Identifier: Apache-2.0
#include "study/measure/host/socket_replay.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <stdexcept>
#include <thread>
#include <vector>

#include "core/near_memory.h"
#include "core/packet/packet.h"
#include "io/host/clock.h"
#include "io/udp/udp_socket.h"
#include "study/measure/cost/processor_time.h"
#include "study/measure/cost/spread.h"
#include "study/measure/host/chunk_shape.h"
#include "study/measure/host/cores.h"

namespace infold::measure {
namespace {

// The number of messages in each turn. They fit the socket's buffer even if it may not be enlarged.
constexpr std::size_t kMessagesInTurn = 3;
constexpr std::size_t kSamples = 5;
constexpr base::Duration kLossAfter = base::seconds(2);

io::UdpSocket open_socket(std::size_t datagram_bytes_max) {
  io::UdpOptions options;
  options.bind = *io::SocketAddress::parse_number("127.0.0.1:0", "bench");
  options.datagram_bytes_max = datagram_bytes_max;
  auto socket = io::UdpSocket::open(options);
  if (!socket) throw std::runtime_error("no UDP socket on loopback");
  return std::move(*socket);
}

std::size_t whole(double together) {
  return static_cast<std::size_t>(std::max(1.0, std::round(together)));
}

// One socket, and the address of the other one.
class End {
 public:
  End(std::size_t datagram_bytes_max, std::size_t datagram_bytes, std::size_t together)
      : socket_(open_socket(datagram_bytes_max)), datagram_(datagram_bytes), together_(together) {}

  io::SocketAddress address() const { return socket_.local_address(); }
  void answer_to(const io::SocketAddress& other) { other_ = other; }
  // From now on, payloads come from a tensor of this size.
  void take_payloads(std::uint64_t bytes) { tensor_.assign(bytes, std::byte{1}); }

  void send(std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) {
      const std::span<const std::byte> payload = next_payload();
      const std::size_t bytes = datagram_.size() - payload.size();
      const std::span<std::byte> place = socket_.place();
      const std::span<std::byte> head = place.size() >= bytes ? place : std::span(datagram_);
      socket_.send({&other_, 1}, head.first(bytes), payload);
      if ((i + 1) % together_ == 0) socket_.flush();
    }
    socket_.flush();
  }
  // Returns false if packets are missing after kLossAfter.
  bool receive(std::size_t count) {
    std::size_t arrived = 0;
    base::Instant limit = base::Instant::never();
    while (arrived < count) {
      const std::size_t more = socket_.receive().size();
      arrived += more;
      if (more > 0 || arrived == count) continue;
      const base::Instant now = io::monotonic_now();
      if (limit == base::Instant::never()) limit = now + kLossAfter;
      if (now > limit) return false;
    }
    return true;
  }

 private:
  // Returns an empty payload if there is no tensor. The packets are then complete in the trains, as
  // if a codec had written them.
  std::span<const std::byte> next_payload() {
    if (tensor_.empty()) return {};
    const std::size_t bytes = datagram_.size() - INFOLD_HEADER_BYTES;
    if (at_ + 2 * bytes > tensor_.size()) at_ = 0;
    const std::span<const std::byte> payload = std::span(tensor_).subspan(at_, bytes);
    at_ += bytes;
    core::bring_near(tensor_.data() + at_, bytes);  // as a worker does
    return payload;
  }

  io::UdpSocket socket_;
  io::SocketAddress other_;
  std::vector<std::byte> datagram_;
  std::size_t together_;
  std::vector<std::byte> tensor_;
  std::size_t at_ = 0;  // the position of the next payload
};

// Returns the cost of reading the clock, which happens before and after a turn.
double clock_s() {
  std::vector<double> samples;
  for (int i = 0; i < 101; ++i) {
    const double start = thread_s();
    samples.push_back(thread_s() - start);
  }
  return spread_of(std::move(samples)).median;
}

class Turns {
 public:
  Turns(End& rank, End& other, std::size_t datagrams, int other_core)
      : rank_(rank),
        other_(other),
        datagrams_(datagrams),
        clock_s_(clock_s()),
        thread_([this, other_core] { answer(other_core); }) {}
  ~Turns() {
    turn_.store(Turn::over);
    thread_.join();
  }

  // Takes one turn on each side. Returns the rank's processor time.
  double run() {
    const double start = thread_s();
    rank_.send(datagrams_);
    const double sent_s = thread_s() - start;
    turn_.store(Turn::other);
    while (turn_.load() == Turn::other) std::this_thread::yield();
    if (turn_.load() == Turn::lost) throw std::runtime_error("loopback loses packets");
    const double before = thread_s();
    if (!rank_.receive(datagrams_)) throw std::runtime_error("loopback loses packets");
    return sent_s + (thread_s() - before) - 2 * clock_s_;
  }

 private:
  enum class Turn { rank, other, lost, over };

  void answer(int core) {
    const StaysOnCore stays(core);
    for (;;) {
      const Turn turn = turn_.load();
      if (turn == Turn::over) return;
      if (turn != Turn::other) {
        std::this_thread::yield();
        continue;
      }
      const bool complete = other_.receive(datagrams_);
      if (complete) other_.send(datagrams_);
      Turn expected = Turn::other;
      turn_.compare_exchange_strong(expected, complete ? Turn::rank : Turn::lost);
    }
  }

  End& rank_;
  End& other_;
  std::size_t datagrams_;
  double clock_s_;
  std::atomic<Turn> turn_{Turn::rank};
  std::thread thread_;
};

}  // namespace

double sockets_s(const Replay& replay, const SocketReplay& sockets) {
  const ChunkShape shape(replay);
  const std::size_t sent = whole(replay.sent_together);
  End rank(shape.datagram_bytes_max, sockets.datagram_bytes, sent);
  End other(shape.datagram_bytes_max, sockets.datagram_bytes, whole(replay.received_together));
  rank.take_payloads(sockets.payload_bytes);
  rank.answer_to(other.address());
  other.answer_to(rank.address());
  const StaysOnCore stays(sockets.rank_core);
  const std::size_t datagrams = sent * kMessagesInTurn;
  Turns turns(rank, other, datagrams, sockets.other_core);
  const std::uint64_t count = (shape.count + datagrams - 1) / datagrams;
  const double gigabytes =
      static_cast<double>(count * datagrams) * static_cast<double>(shape.tensor_bytes) * 1e-9;
  std::vector<double> samples;
  for (std::size_t i = 0; i < kSamples + 1; ++i) {
    double seconds = 0;
    for (std::uint64_t k = 0; k < count; ++k) seconds += turns.run();
    if (i > 0) samples.push_back(seconds / gigabytes);
  }
  return spread_of(std::move(samples)).median;
}

}  // namespace infold::measure
