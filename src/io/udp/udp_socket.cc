// SPDX-License-Identifier: Apache-2.0
//
// Trains out by UDP_SEGMENT, trains in by UDP_GRO, both probed: a kernel that refuses one gets
// plain messages, many to a system call.
#include "io/udp/udp_socket.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <memory>
#include <netinet/udp.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>
#include <utility>
#include <vector>

#include "base/check.h"
#include "io/address/listen.h"
#include "io/address/route.h"
#include "io/host/clock.h"
#include "io/host/file_descriptor.h"
#include "io/udp/checksum_filter.h"

namespace infold::io {
namespace {

using base::Code;

// What a datagram of maximal length holds; the kernel cuts it into at most 64 segments.
constexpr std::size_t kTrainBytes = 65'000;
constexpr std::size_t kTrainDatagrams = 64;
// Destinations in turn: results to all workers, answers to single ones.
constexpr std::size_t kTrains = 8;
constexpr std::size_t kMessagesIn = 16;
constexpr std::size_t kMessagesOut = 64;
constexpr std::size_t kTrainInBytes = 1 << 16;

union Control {
  cmsghdr header;
  char room[CMSG_SPACE(sizeof(int))];
};

struct Train {
  std::span<const SocketAddress> to;
  std::unique_ptr<std::byte[]> bytes;
  std::size_t used = 0;
  std::size_t datagram_bytes = 0;
  bool closed = false;  // its last datagram is a shorter one
  // How far it has gone out.
  std::size_t to_done = 0;
  std::size_t bytes_done = 0;  // towards to[to_done]
};

void set_option(int fd, int level, int name, int value) {
  setsockopt(fd, level, name, &value, sizeof(value));  // each of these is a wish
}

// Beyond the limit for ordinary users where we are privileged.
void set_buffer(int fd, int forced, int plain, int bytes) {
  if (setsockopt(fd, SOL_SOCKET, forced, &bytes, sizeof(bytes)) != 0) {
    set_option(fd, SOL_SOCKET, plain, bytes);
  }
}

}  // namespace

class UdpSocket::State {
 public:
  State(int fd, const UdpOptions& options)
      : options_(options), fd_(fd), event_(eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)) {
    if (options.offload) probe_offloads();
    message_bytes_ = receives_trains_ ? kTrainInBytes : options.datagram_bytes_max + 1;
    // Not cleared: pages that no packet needs are never touched, and a socket opens 1 ms sooner.
    room_in_ = std::make_unique_for_overwrite<std::byte[]>(kMessagesIn * message_bytes_);
    for (std::size_t i = 0; i < kMessagesIn; ++i) {
      parts_in_[i] = {room_in_.get() + i * message_bytes_, message_bytes_};
    }
    for (Train& train : trains_) {
      train.bytes = std::make_unique_for_overwrite<std::byte[]>(kTrainBytes);
    }
    const std::size_t most = receives_trains_ ? kTrainInBytes / kSegmentBytesMin : 1;
    arrivals_.reserve(kMessagesIn * most);
  }

  bool is_valid() const { return event_.is_open(); }

  void send(std::span<const SocketAddress> to, std::span<const std::byte> datagram) {
    if (datagram.empty() || datagram.size() > options_.datagram_bytes_max) {
      ++counters_.refused;
      return;
    }
    Train& train = train_for(to, datagram.size());
    if (train.used + datagram.size() > kTrainBytes) {
      ++counters_.blocked;  // the kernel has not taken what is there
      return;
    }
    if (train.used == 0) {
      train.to = to;
      train.datagram_bytes = datagram.size();
    }
    std::memcpy(train.bytes.get() + train.used, datagram.data(), datagram.size());
    train.used += datagram.size();
    train.closed = datagram.size() < train.datagram_bytes;
    counters_.datagrams_sent += to.size();
    counters_.bytes_sent += to.size() * datagram.size();
  }

  void flush() {
    bool blocked = false;
    for (Train& train : trains_) {
      if (train.used > 0 && !dispatch(train)) blocked = true;
    }
    blocked_.store(blocked, std::memory_order_relaxed);
  }

  bool is_blocked() const { return blocked_.load(std::memory_order_relaxed); }

  std::span<const Arrival> receive() {
    arrivals_.clear();
    for (std::size_t i = 0; i < kMessagesIn; ++i) {
      msghdr& message = messages_in_[i].msg_hdr;
      message = {};
      message.msg_name = &names_in_[i];
      message.msg_namelen = sizeof(names_in_[i]);
      message.msg_iov = &parts_in_[i];
      message.msg_iovlen = 1;
      message.msg_control = &controls_in_[i];
      message.msg_controllen = sizeof(controls_in_[i]);
    }
    const int count = recvmmsg(fd_.get(), messages_in_.data(), kMessagesIn, MSG_DONTWAIT, nullptr);
    for (int i = 0; i < count; ++i) split(static_cast<std::size_t>(i));
    std::uint64_t bytes = 0;
    for (const Arrival& arrival : arrivals_) bytes += arrival.datagram.size();
    datagrams_received_.fetch_add(arrivals_.size(), std::memory_order_relaxed);
    bytes_received_.fetch_add(bytes, std::memory_order_relaxed);
    calls_received_.fetch_add(count > 0 ? static_cast<std::uint64_t>(count) : 0,
                              std::memory_order_relaxed);
    return arrivals_;
  }

  // `other` may be negative: none.
  void wait(base::Instant deadline, int other) {
    pollfd polled[3] = {{fd_.get(), POLLIN, 0}, {event_.get(), POLLIN, 0}, {other, POLLIN, 0}};
    if (is_blocked()) polled[0].events |= POLLOUT;
    timespec timeout = {};
    timespec* until = nullptr;
    if (deadline != base::Instant::never()) {
      const std::int64_t left = std::max<std::int64_t>(0, (deadline - monotonic_now()).ns);
      timeout = {left / 1'000'000'000, left % 1'000'000'000};
      until = &timeout;
    }
    ppoll(polled, other >= 0 ? 3 : 2, until, nullptr);
    if ((polled[1].revents & POLLIN) == 0) return;
    eventfd_t ignored;
    eventfd_read(event_.get(), &ignored);
  }

  void wake() { eventfd_write(event_.get(), 1); }
  int descriptor() const { return fd_.get(); }

  SocketAddress local_address() const {
    sockaddr_storage address = {};
    socklen_t bytes = sizeof(address);
    getsockname(fd_.get(), reinterpret_cast<sockaddr*>(&address), &bytes);
    return {reinterpret_cast<const sockaddr*>(&address), bytes};
  }
  bool sends_trains() const { return sends_trains_; }
  bool receives_trains() const { return receives_trains_; }
  const std::optional<NarrowPath>& narrow_path() const { return narrow_path_; }
  UdpCounters counters() const {
    UdpCounters sum = counters_;
    sum.datagrams_received = datagrams_received_.load(std::memory_order_relaxed);
    sum.bytes_received = bytes_received_.load(std::memory_order_relaxed);
    sum.misfits = misfits_.load(std::memory_order_relaxed);
    sum.calls_received = calls_received_.load(std::memory_order_relaxed);
    return sum;
  }

 private:
  // Shorter segments are not split: nothing of ours is.
  static constexpr std::size_t kSegmentBytesMin = 32;

  void probe_offloads() {
    int value = 0;
    socklen_t bytes = sizeof(value);
    sends_trains_ = getsockopt(fd_.get(), SOL_UDP, UDP_SEGMENT, &value, &bytes) == 0;
    value = 1;
    receives_trains_ = setsockopt(fd_.get(), SOL_UDP, UDP_GRO, &value, sizeof(value)) == 0;
  }

  // An open train that this datagram may join, or a free one; sends others to make room.
  Train& train_for(std::span<const SocketAddress> to, std::size_t bytes) {
    Train* free = nullptr;
    for (Train& train : trains_) {
      if (train.used == 0) {
        free = free == nullptr ? &train : free;
        continue;
      }
      if (train.to.data() != to.data() || train.to.size() != to.size()) continue;
      const bool joins = !train.closed && bytes <= train.datagram_bytes &&
                         train.used + bytes <= kTrainBytes &&
                         train.used < train.datagram_bytes * kTrainDatagrams &&
                         train.to_done == 0 && train.bytes_done == 0;
      if (joins) return train;
      note_dispatch(train);
      if (train.used == 0) return train;
      train.closed = true;
      return full_;
    }
    if (free != nullptr) return *free;
    for (Train& train : trains_) {
      note_dispatch(train);
      if (train.used == 0) return train;
    }
    return full_;
  }

  void note_dispatch(Train& train) {
    if (!dispatch(train)) blocked_.store(true, std::memory_order_relaxed);
  }

  // Hands a train to the kernel; false if some of it stays.
  bool dispatch(Train& train) {
    while (train.to_done < train.to.size()) {
      const std::size_t messages = lay_out(train);
      const int taken = sendmmsg(fd_.get(), messages_out_.data(), static_cast<unsigned>(messages),
                                 MSG_DONTWAIT | MSG_NOSIGNAL);
      if (taken > 0) {
        for (int i = 0; i < taken; ++i)
          advance(train, parts_out_[static_cast<std::size_t>(i)].iov_len);
        counters_.calls_sent += static_cast<std::uint64_t>(taken);
        continue;
      }
      if (errno == EINTR) continue;
      if (errno == EAGAIN || errno == EWOULDBLOCK || errno == ENOBUFS) {
        if (options_.keeps_blocked) return false;
        skip(train, counters_.blocked);
      } else if (parts_out_[0].iov_len > train.datagram_bytes) {
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
    train.used = train.to_done = train.bytes_done = 0;
    train.closed = false;
    return true;
  }

  // Messages for what has not gone out, as many as there is room for.
  std::size_t lay_out(const Train& train) {
    std::size_t count = 0;
    std::size_t at = train.bytes_done;
    for (std::size_t to = train.to_done; to < train.to.size(); ++to, at = 0) {
      const bool whole = takes_trains(train.to[to]);
      while (at < train.used && count < kMessagesOut) {
        const std::size_t left = train.used - at;
        const std::size_t bytes = whole ? left : std::min(left, train.datagram_bytes);
        parts_out_[count] = {train.bytes.get() + at, bytes};
        address_message(count++, train.to[to], train.datagram_bytes);
        at += bytes;
      }
      if (count == kMessagesOut) break;
    }
    return count;
  }

  bool takes_trains(const SocketAddress& to) const {
    const auto end = without_trains_.begin() + static_cast<std::ptrdiff_t>(without_trains_count_);
    return sends_trains_ && std::find(without_trains_.begin(), end, to) == end;
  }

  // Where there are more than the table holds, each in turn costs a call that fails.
  void note_without_trains(const SocketAddress& to) {
    without_trains_[without_trains_next_] = to;
    without_trains_next_ = (without_trains_next_ + 1) % kWithoutTrainsMax;
    without_trains_count_ = std::min(without_trains_count_ + 1, kWithoutTrainsMax);
  }

  void note_narrow(const SocketAddress& to) {
    if (narrow_path_) return;
    const base::Result<Route> route = route_to(to);
    narrow_path_ = NarrowPath{to, route ? route->mtu_bytes : 0};
  }

  void address_message(std::size_t index, const SocketAddress& to, std::size_t datagram_bytes) {
    msghdr& message = messages_out_[index].msg_hdr;
    message = {};
    message.msg_name = const_cast<sockaddr*>(to.data());
    message.msg_namelen = to.bytes();
    message.msg_iov = &parts_out_[index];
    message.msg_iovlen = 1;
    if (parts_out_[index].iov_len <= datagram_bytes) return;
    Control& control = controls_out_[index];
    message.msg_control = &control;
    message.msg_controllen = CMSG_SPACE(sizeof(std::uint16_t));
    cmsghdr* const header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_UDP;
    header->cmsg_type = UDP_SEGMENT;
    header->cmsg_len = CMSG_LEN(sizeof(std::uint16_t));
    const auto segment = static_cast<std::uint16_t>(datagram_bytes);
    std::memcpy(CMSG_DATA(header), &segment, sizeof(segment));
  }

  static void advance(Train& train, std::size_t bytes) {
    train.bytes_done += bytes;
    if (train.bytes_done < train.used) return;
    train.bytes_done = 0;
    ++train.to_done;
  }

  // Gives up one message.
  void skip(Train& train, std::uint64_t& counter) {
    const std::size_t bytes = parts_out_[0].iov_len;
    counter += (bytes + train.datagram_bytes - 1) / train.datagram_bytes;
    advance(train, bytes);
  }

  // One message in: a datagram, or a train of them.
  void split(std::size_t index) {
    const msghdr& message = messages_in_[index].msg_hdr;
    if ((message.msg_flags & MSG_TRUNC) != 0) return count_misfit();
    from_in_[index] =
        SocketAddress(reinterpret_cast<const sockaddr*>(&names_in_[index]), message.msg_namelen);
    std::size_t segment = messages_in_[index].msg_len;
    for (cmsghdr* header = CMSG_FIRSTHDR(&message); header != nullptr;
         header = CMSG_NXTHDR(const_cast<msghdr*>(&message), header)) {
      if (header->cmsg_level != SOL_UDP || header->cmsg_type != UDP_GRO) continue;
      int bytes = 0;
      std::memcpy(&bytes, CMSG_DATA(header), sizeof(bytes));
      segment = static_cast<std::size_t>(bytes);
    }
    if (segment < kSegmentBytesMin) return count_misfit();
    std::span<const std::byte> rest(room_in_.get() + index * message_bytes_,
                                    messages_in_[index].msg_len);
    while (!rest.empty()) {
      const std::size_t bytes = std::min(segment, rest.size());
      if (bytes <= options_.datagram_bytes_max) {
        arrivals_.push_back({&from_in_[index], rest.first(bytes)});
      } else {
        count_misfit();
      }
      rest = rest.subspan(bytes);
    }
  }

  void count_misfit() { misfits_.fetch_add(1, std::memory_order_relaxed); }

  UdpOptions options_;
  FileDescriptor fd_;
  FileDescriptor event_;
  bool sends_trains_ = false;
  bool receives_trains_ = false;
  std::atomic<bool> blocked_{false};
  UdpCounters counters_;
  // Of the thread that receives; counters are read by others.
  std::atomic<std::uint64_t> datagrams_received_{0};
  std::atomic<std::uint64_t> bytes_received_{0};
  std::atomic<std::uint64_t> misfits_{0};
  std::atomic<std::uint64_t> calls_received_{0};

  // Destinations that get single datagrams.
  static constexpr std::size_t kWithoutTrainsMax = 64;
  std::array<SocketAddress, kWithoutTrainsMax> without_trains_;
  std::size_t without_trains_count_ = 0;
  std::size_t without_trains_next_ = 0;
  std::optional<NarrowPath> narrow_path_;

  std::array<Train, kTrains> trains_;
  // Stands for a train without room: kept full, so that what is sent to it is dropped.
  Train full_ = {.used = kTrainBytes};
  std::array<mmsghdr, kMessagesOut> messages_out_;
  std::array<iovec, kMessagesOut> parts_out_;
  std::array<Control, kMessagesOut> controls_out_;

  std::size_t message_bytes_ = 0;
  std::unique_ptr<std::byte[]> room_in_;
  std::array<mmsghdr, kMessagesIn> messages_in_;
  std::array<iovec, kMessagesIn> parts_in_;
  std::array<sockaddr_storage, kMessagesIn> names_in_;
  std::array<SocketAddress, kMessagesIn> from_in_;
  std::array<Control, kMessagesIn> controls_in_;
  std::vector<Arrival> arrivals_;
};

base::Result<UdpSocket> UdpSocket::open(const UdpOptions& options) {
  CHECK(options.bind.is_set());
  const int fd = socket(options.bind.data()->sa_family, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC,
                        IPPROTO_UDP);
  if (fd < 0) return base::fail(Code::unavailable, "socket", "cannot open a UDP socket", errno);
  const int level = options.bind.is_ipv6() ? IPPROTO_IPV6 : IPPROTO_IP;
  // A datagram that does not fit the path must fail here, not travel in fragments.
  set_option(fd, level, options.bind.is_ipv6() ? IPV6_MTU_DISCOVER : IP_MTU_DISCOVER,
             IP_PMTUDISC_DO);
  drop_datagrams_without_checksum(fd);  // where the kernel has no filters, a wish
  set_buffer(fd, SO_RCVBUFFORCE, SO_RCVBUF, options.receive_buffer_bytes);
  set_buffer(fd, SO_SNDBUFFORCE, SO_SNDBUF, options.send_buffer_bytes);
  if (!options.device.empty() && setsockopt(fd, SOL_SOCKET, SO_BINDTODEVICE, options.device.c_str(),
                                            static_cast<socklen_t>(options.device.size())) != 0) {
    const int reason = errno;
    close(fd);
    return base::fail(Code::unavailable, "device", "cannot send over that interface", reason);
  }
  if (bind(fd, options.bind.data(), options.bind.bytes()) != 0) {
    const int reason = errno;
    close(fd);
    return base::fail(Code::unavailable, "bind", bind_problem(reason), reason);
  }
  auto state = std::make_unique<State>(fd, options);
  if (!state->is_valid()) return base::fail(Code::resource_exhausted, "socket", "out of files");
  return UdpSocket(std::move(state));
}

UdpSocket::UdpSocket(std::unique_ptr<State> state) : state_(std::move(state)) {}
UdpSocket::UdpSocket(UdpSocket&& other) noexcept = default;
UdpSocket& UdpSocket::operator=(UdpSocket&& other) noexcept = default;
UdpSocket::~UdpSocket() = default;

void UdpSocket::send(std::span<const SocketAddress> to, std::span<const std::byte> datagram) {
  state_->send(to, datagram);
}
void UdpSocket::flush() { state_->flush(); }
bool UdpSocket::is_blocked() const { return state_->is_blocked(); }
std::span<const UdpSocket::Arrival> UdpSocket::receive() { return state_->receive(); }
void UdpSocket::wait(base::Instant deadline) { state_->wait(deadline, -1); }
void UdpSocket::wait_beside(base::Instant deadline, int descriptor) {
  state_->wait(deadline, descriptor);
}
void UdpSocket::wake() { state_->wake(); }
SocketAddress UdpSocket::local_address() const { return state_->local_address(); }
int UdpSocket::descriptor() const { return state_->descriptor(); }
bool UdpSocket::sends_trains() const { return state_->sends_trains(); }
bool UdpSocket::receives_trains() const { return state_->receives_trains(); }
UdpCounters UdpSocket::counters() const { return state_->counters(); }
const std::optional<NarrowPath>& UdpSocket::narrow_path() const { return state_->narrow_path(); }

}  // namespace infold::io
