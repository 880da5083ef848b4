// SPDX-License-Identifier: Apache-2.0
//
// The owner of a connection that was handed on does not say when it closes the connection. The
// acceptor therefore remembers the cookie of each socket, which no other socket ever has. If a
// descriptor has another cookie, the connection is gone.
#include "join/service/acceptor.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <list>
#include <map>
#include <memory>
#include <netinet/tcp.h>
#include <optional>
#include <sys/epoll.h>
#include <thread>
#include <unistd.h>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/mutex.h"
#include "io/address/listen.h"
#include "io/address/tcp_connection.h"
#include "io/host/clock.h"
#include "io/host/file_descriptor.h"
#include "io/memory/doorbell.h"
#include "join/agenda.h"
#include "join/service/address_limits.h"

namespace infold::join {
namespace {

// If there seems to be no room, the acceptor looks for connections that are gone, at most this
// often.
constexpr auto kSweepEvery = base::milliseconds(10);
// An address in debt may send at its rate during each stretch of this length.
constexpr auto kStretch = base::milliseconds(200);
// A new connection counts as this many bytes, in addition to the bytes that come over it.
constexpr double kBytesOfConnection = 4096;
// How long the acceptor rests if not even the spare descriptor helps.
constexpr auto kRest = base::milliseconds(50);
constexpr int kBacklog = 1024;

std::optional<std::uint64_t> cookie_of(int descriptor) {
  std::uint64_t cookie = 0;
  socklen_t bytes = sizeof(cookie);
  if (getsockopt(descriptor, SOL_SOCKET, SO_COOKIE, &cookie, &bytes) != 0) return std::nullopt;
  return cookie;
}

io::FileDescriptor spare() { return io::FileDescriptor(open("/dev/null", O_RDONLY | O_CLOEXEC)); }

// If the host has IPv6, listening at 0.0.0.0 also takes connections over IPv6.
base::Result<io::FileDescriptor> listen_at(const io::SocketAddress& address) {
  const auto try_at = [](const sockaddr* at, socklen_t bytes) {
    io::FileDescriptor socket(
        ::socket(at->sa_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
    const int on = 1;
    const int off = 0;
    setsockopt(socket.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
    if (at->sa_family == AF_INET6) {
      setsockopt(socket.get(), IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof(off));
    }
    if (bind(socket.get(), at, bytes) != 0 || ::listen(socket.get(), kBacklog) != 0) {
      return io::FileDescriptor();
    }
    return socket;
  };
  io::FileDescriptor socket;
  if (!address.is_ipv6() && address.is_any()) {
    sockaddr_in6 any = {};
    any.sin6_family = AF_INET6;
    any.sin6_port = htons(address.port());
    socket = try_at(reinterpret_cast<const sockaddr*>(&any), sizeof(any));
  }
  if (!socket.is_open()) socket = try_at(address.data(), address.bytes());
  if (socket.is_open()) return socket;
  return base::fail(base::Code::unavailable, "join", io::bind_problem(errno), errno);
}

}  // namespace

class Acceptor::State {
 public:
  State(io::FileDescriptor listener, io::Doorbell bell, const AcceptorLimits& limits)
      : listener_(std::move(listener)),
        limits_(limits),
        bell_(std::move(bell)),
        counts_(limits.connections_max, limits.connections_of_address_max),
        bytes_(limits.bytes_per_second_of_address, limits.bytes_at_once_of_address) {
    watch(listener_.get(), EPOLLIN);
    watch(bell_.descriptor(), EPOLLIN);
  }
  ~State() { stop(); }

  void start(Users users) {
    users_ = std::move(users);
    hand_overs_.run_on_thread({});
    thread_ = std::thread([this] { run(); });
  }
  void stop() {
    if (!thread_.joinable()) return;
    // Bytes must be counted for as long as connections are handed on.
    hands_over_ = false;
    hand_overs_.stop();
    stops_ = true;
    bell_.ring();
    thread_.join();
    listener_ = io::FileDescriptor();  // refuses new connections, which would otherwise wait
  }
  void close(const io::SocketAddress& from) {
    const base::MutexLock lock(to_close_mutex_);
    if (std::find(to_close_.begin(), to_close_.end(), from) != to_close_.end()) return;
    to_close_.push_back(from);
    bell_.ring();
  }
  io::SocketAddress address() const { return io::local_address_of(listener_.get()); }

 private:
  // A connection. While it is silent, the acceptor owns its descriptor.
  struct Known {
    std::uint64_t cookie = 0;
    std::string address;
    io::SocketAddress from;
    std::uint64_t bytes = 0;       // bytes that had come when they were last counted
    std::uint64_t of_stretch = 0;  // the part of them that came in the present stretch
  };
  struct Silent {
    io::FileDescriptor socket;
    base::Instant until;
  };
  // The bytes that an address sent in the present stretch, and the connections that brought them.
  struct Sent {
    std::uint64_t bytes = 0;
    std::vector<int> descriptors;
  };

  void watch(int descriptor, std::uint32_t events, int operation = EPOLL_CTL_ADD) {
    epoll_event event = {};
    event.events = events;
    event.data.fd = descriptor;
    epoll_ctl(epoll_.get(), operation, descriptor, &event);
  }

  void run() {
    while (!stops_) {
      std::array<epoll_event, 64> events;
      const int count = epoll_wait(epoll_.get(), events.data(), events.size(), patience_ms());
      for (int i = 0; i < count; ++i) {
        const int descriptor = events[static_cast<std::size_t>(i)].data.fd;
        if (descriptor == bell_.descriptor()) {
          close_asked();
        } else if (descriptor == listener_.get()) {
          accept_all();
        } else if (of_silent_.contains(descriptor)) {
          hand_on(descriptor);
        } else {
          count_bytes(descriptor);
        }
      }
      close_silent(io::monotonic_now());
    }
  }

  int patience_ms() const {
    if (silent_.empty()) return -1;
    const base::Duration left = silent_.front().until - io::monotonic_now();
    return static_cast<int>(std::max<std::int64_t>(left.ns / 1'000'000 + 1, 0));
  }

  void accept_all() {
    for (;;) {
      sockaddr_storage from = {};
      socklen_t bytes = sizeof(from);
      io::FileDescriptor socket(accept4(listener_.get(), reinterpret_cast<sockaddr*>(&from), &bytes,
                                        SOCK_NONBLOCK | SOCK_CLOEXEC));
      if (socket.is_open()) {
        admit(std::move(socket), {reinterpret_cast<const sockaddr*>(&from), bytes});
      } else if (errno == EMFILE || errno == ENFILE) {
        if (!turn_one_away()) return;
      } else if (errno != ECONNABORTED && errno != EINTR) {
        return;
      }
    }
  }

  // Closes one connection with the help of the spare descriptor, because no other is left. If the
  // connection stayed in the queue, its host would not know why it waits.
  bool turn_one_away() {
    users_.turned_away("", "no descriptors are left for connections (RLIMIT_NOFILE)");
    spare_ = io::FileDescriptor();
    const bool closed = io::FileDescriptor(accept(listener_.get(), nullptr, nullptr)).is_open();
    spare_ = spare();
    if (closed) return true;
    io::rest(kRest);  // the socket stays readable, and this thread has nothing else to do
    return false;
  }

  void admit(io::FileDescriptor socket, const io::SocketAddress& from) {
    const std::string address = limited_address(from);
    if (bytes_.is_empty(address, io::monotonic_now()) || !users_.may_connect(address)) return;
    AddressCounts::Taken taken = counts_.take(address);
    if (taken != AddressCounts::Taken::yes && sweep()) taken = counts_.take(address);
    if (taken != AddressCounts::Taken::yes) {
      const bool is_all = taken == AddressCounts::Taken::all_full;
      users_.turned_away(address, fmt::format("{} has {} connections, which is its limit",
                                              is_all ? "the switch" : "the address",
                                              is_all ? limits_.connections_max
                                                     : limits_.connections_of_address_max));
      return;
    }
    const int on = 1;
    setsockopt(socket.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
    forget(socket.get());  // an older connection had this number
    known_[socket.get()] = {cookie_of(socket.get()).value_or(0), address, from};
    watch(socket.get(), EPOLLIN | EPOLLRDHUP);
    silent_.push_back({std::move(socket), io::monotonic_now() + limits_.silence_max});
    of_silent_[silent_.back().socket.get()] = std::prev(silent_.end());
  }

  // Closes connections from the addresses that close() got. Their owner hears that they ended.
  void close_asked() {
    bell_.silence();
    std::vector<io::SocketAddress> asked;
    {
      const base::MutexLock lock(to_close_mutex_);
      asked.swap(to_close_);
    }
    for (const auto& [descriptor, known] : known_) {
      if (std::find(asked.begin(), asked.end(), known.from) != asked.end()) cut(descriptor, known);
    }
  }

  // Ends a connection that another object owns. If no other descriptor is free, the duplicate uses
  // the spare one's number. It keeps the socket while the cookie is compared, so that no other
  // connection is closed. Closing then resets the connection, because a rank whose window is full
  // would not hear of an ordinary end.
  void cut(int descriptor, const Known& known) {
    spare_ = io::FileDescriptor();
    {
      const io::FileDescriptor same(fcntl(descriptor, F_DUPFD_CLOEXEC, 0));
      if (cookie_of(same.get()) == known.cookie) {
        const linger at_once = {1, 0};
        setsockopt(same.get(), SOL_SOCKET, SO_LINGER, &at_once, sizeof(at_once));
        shutdown(same.get(), SHUT_RDWR);
      }
    }
    spare_ = spare();
  }

  // gRPC reads all bytes before we can judge them, such as a header block without an end or frames
  // without a meaning. It buffers as much as came without a pause, and version 1.51 aborts if that
  // exceeds an int. An address therefore pays for bytes as they come. If it is in debt and still
  // sends more than its rate, it loses those connections that brought at least the mean. A rank
  // behind the same address as a flood keeps its connection.
  void count_bytes(int descriptor) {
    const auto found = known_.find(descriptor);
    if (found == known_.end()) return;
    Known& own = found->second;
    const std::uint64_t bytes = io::received_bytes_of(descriptor);
    // With another cookie, the descriptor belongs to another connection now.
    if (bytes <= own.bytes || cookie_of(descriptor) != own.cookie) return;
    const base::Instant now = io::monotonic_now();
    if (now - stretch_from_ >= kStretch) begin_stretch(now);
    const std::uint64_t more = bytes - own.bytes;
    Sent& sent = sent_[own.address];
    if (own.of_stretch == 0) sent.descriptors.push_back(descriptor);
    own.bytes = bytes;
    own.of_stretch += more;
    sent.bytes += more;
    if (bytes_.take_or_owe(own.address, now, static_cast<double>(more))) return;
    const double seconds = static_cast<double>(kStretch.ns) * 1e-9;
    if (static_cast<double>(sent.bytes) <= limits_.bytes_per_second_of_address * seconds) return;
    users_.turned_away(own.address, fmt::format("more than {} KiB a second come from the address",
                                                limits_.bytes_per_second_of_address >> 10));
    cut_greedy(sent);
  }

  void begin_stretch(base::Instant now) {
    stretch_from_ = now;
    for (const auto& [address, sent] : sent_) {
      for (const int descriptor : sent.descriptors) {
        const auto found = known_.find(descriptor);
        if (found != known_.end()) found->second.of_stretch = 0;
      }
    }
    sent_.clear();
  }

  void cut_greedy(Sent& sent) {
    const std::uint64_t bytes = sent.bytes;
    const std::uint64_t connections = sent.descriptors.size();
    std::erase_if(sent.descriptors, [&](int descriptor) {
      Known& known = known_.at(descriptor);
      if (known.of_stretch * connections < bytes) return false;
      sent.bytes -= known.of_stretch;
      known.of_stretch = 0;
      cut(descriptor, known);
      return true;
    });
  }

  void forget(int descriptor) {
    const auto found = known_.find(descriptor);
    if (found == known_.end()) return;
    const auto sent = sent_.find(found->second.address);
    if (sent != sent_.end() && std::erase(sent->second.descriptors, descriptor) > 0) {
      sent->second.bytes -= found->second.of_stretch;
    }
    counts_.give_back(found->second.address);
    known_.erase(found);
  }

  // Forgets connections that are gone. Returns whether there were any.
  bool sweep() {
    const base::Instant now = io::monotonic_now();
    if (now - swept_at_ < kSweepEvery) return false;
    swept_at_ = now;
    const std::uint32_t before = counts_.count();
    for (auto each = known_.begin(); each != known_.end();) {
      const auto next = std::next(each);
      if (cookie_of(each->first) != each->second.cookie) forget(each->first);
      each = next;
    }
    return counts_.count() < before;
  }

  void hand_on(int descriptor) {
    const auto found = of_silent_.find(descriptor);
    char first = 0;
    const ssize_t bytes = recv(descriptor, &first, 1, MSG_PEEK);
    io::FileDescriptor socket = std::move(found->second->socket);
    silent_.erase(found->second);
    of_silent_.erase(found);
    if (bytes > 0) {
      bytes_.take_or_owe(known_.at(descriptor).address, io::monotonic_now(), kBytesOfConnection);
      watch(descriptor, EPOLLIN | EPOLLET, EPOLL_CTL_MOD);  // wakes us whenever more bytes come
      count_bytes(descriptor);
      // The owner may read inside the call for as long as the other end sends.
      hand_overs_.add([this, own = std::make_shared<io::FileDescriptor>(std::move(socket))] {
        if (hands_over_) users_.take(own->release());
      });
    } else {
      forget(descriptor);
    }
  }

  void close_silent(base::Instant now) {
    while (!silent_.empty() && silent_.front().until <= now) {
      const int descriptor = silent_.front().socket.get();
      forget(descriptor);
      of_silent_.erase(descriptor);
      silent_.pop_front();
    }
  }

  io::FileDescriptor listener_;
  const AcceptorLimits limits_;
  Users users_;
  const io::FileDescriptor epoll_{epoll_create1(EPOLL_CLOEXEC)};
  const io::Doorbell bell_;  // wakes the thread for the two members below
  std::atomic<bool> stops_ = false;
  base::Mutex to_close_mutex_;
  std::vector<io::SocketAddress> to_close_ GUARDED_BY(to_close_mutex_);
  io::FileDescriptor spare_ = spare();
  AddressCounts counts_;
  AddressRates bytes_;
  std::map<int, Known> known_;
  std::list<Silent> silent_;  // in the order of `until`
  std::map<int, std::list<Silent>::iterator> of_silent_;
  base::Instant swept_at_;
  base::Instant stretch_from_;
  std::map<std::string, Sent> sent_;
  std::atomic<bool> hands_over_ = true;
  Agenda hand_overs_;
  std::thread thread_;
};

base::Result<std::unique_ptr<Acceptor>> Acceptor::listen(const io::SocketAddress& address,
                                                         const AcceptorLimits& limits) {
  base::Result<io::FileDescriptor> listener = listen_at(address);
  if (!listener) return tl::unexpected(listener.error());
  base::Result<io::Doorbell> bell = io::Doorbell::open();
  if (!bell) return tl::unexpected(bell.error());
  return std::unique_ptr<Acceptor>(
      new Acceptor(std::make_unique<State>(std::move(*listener), std::move(*bell), limits)));
}

Acceptor::Acceptor(std::unique_ptr<State> state) : state_(std::move(state)) {}
Acceptor::~Acceptor() = default;

void Acceptor::start(Users users) { state_->start(std::move(users)); }
void Acceptor::stop() { state_->stop(); }
void Acceptor::close(const io::SocketAddress& from) { state_->close(from); }

io::SocketAddress Acceptor::address() const { return state_->address(); }

}  // namespace infold::join
