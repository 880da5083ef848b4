// SPDX-License-Identifier: Apache-2.0
#include "join/service/door/front_door.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <fcntl.h>
#include <list>
#include <map>
#include <netinet/tcp.h>
#include <optional>
#include <sys/epoll.h>
#include <thread>
#include <unistd.h>
#include <utility>

#include "io/address/listen.h"
#include "io/address/tcp_connection.h"
#include "io/host/clock.h"
#include "io/host/patience.h"
#include "io/memory/doorbell.h"
#include "join/refusals.h"
#include "join/service/door/first_contact.h"
#include "join/service/door/handshake_places.h"
#include "join/service/parse_request.h"
#include "join/service/replies.h"

namespace infold::join {
namespace {

// A connection that was refused stays open so long, so that the other end can read why. The limit
// of connections does not count it, so there are fewer of these than kDescriptorsKept.
constexpr auto kGoodbye = base::seconds(1);
constexpr std::size_t kGoodbyesMax = 64;
// How long accepting rests where not even the spare descriptor helps.
constexpr auto kRest = base::milliseconds(50);
constexpr int kBacklog = 1024;

io::FileDescriptor spare() { return io::FileDescriptor(open("/dev/null", O_RDONLY | O_CLOEXEC)); }

// A switch that listens at all addresses of IPv4 also listens at those of IPv6, if the host has
// any.
base::Result<io::FileDescriptor> listen_on(const io::SocketAddress& address) {
  if (!address.is_ipv6() && address.is_any()) {
    base::Result<io::SocketAddress> all = io::SocketAddress::parse_number("[::]:0", "join");
    all->set_port(address.port());
    if (auto socket = io::listen_at(*all, "join", kBacklog)) return socket;
  }
  return io::listen_at(address, "join", kBacklog);
}

}  // namespace

class FrontDoor::State {
 public:
  State(io::FileDescriptor listener, io::FileDescriptor epoll, io::Doorbell bell,
        ConnectionGate& gate, base::Duration silence_max, std::shared_ptr<const TlsContext> tls)
      : listener_(std::move(listener)),
        epoll_(std::move(epoll)),
        bell_(std::move(bell)),
        gate_(gate),
        silence_max_(silence_max),
        tls_(std::move(tls)),
        places_(gate.limits().handshakes_open_max, gate.limits().handshakes_open_of_address_max) {
    watch(listener_.get());
    watch(bell_.descriptor());
  }
  ~State() { stop(); }

  void start(Users users) {
    users_ = std::move(users);
    thread_ = std::thread([this] { run(); });
  }
  void stop() {
    if (!thread_.joinable()) return;
    stops_ = true;
    bell_.ring();
    thread_.join();
    listener_ = io::FileDescriptor();  // new connections are refused, and do not wait for our end
    while (!visitors_.empty()) forget(visitors_.begin());
    goodbyes_.clear();
  }
  io::SocketAddress address() const { return io::local_address_of(listener_.get()); }

 private:
  struct Visitor {
    io::FileDescriptor socket;
    io::SocketAddress from;
    std::string address;
    FirstContact contact;
    enum : std::uint8_t { none, waits, ready, begun } handshake = none;
    base::Instant until;
    std::list<int>::iterator place;  // in by_time_
  };
  using Visitors = std::map<int, Visitor>;
  struct Goodbye {
    io::FileDescriptor socket;
    base::Instant until;
  };

  void watch(int descriptor) {
    epoll_event event = {};
    event.events = EPOLLIN;
    event.data.fd = descriptor;
    epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, descriptor, &event);
  }
  void watch_no_more(int descriptor) {
    epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, descriptor, nullptr);
  }

  void run() {
    while (!stops_) {
      std::array<epoll_event, 64> events;
      const int count = epoll_wait(epoll_.get(), events.data(), events.size(), patience_ms());
      now_ = io::monotonic_now();
      for (int i = 0; i < count; ++i) {
        const int descriptor = events[static_cast<std::size_t>(i)].data.fd;
        if (descriptor == listener_.get()) {
          accept_all();
        } else if (const auto found = visitors_.find(descriptor); found != visitors_.end()) {
          listen_to(found);
        }
      }
      close_late();
      begin_waiting();
    }
  }

  int patience_ms() const {
    base::Instant next = base::Instant::never();
    if (!by_time_.empty()) next = visitors_.at(by_time_.front()).until;
    if (!goodbyes_.empty()) next = std::min(next, goodbyes_.front().until);
    return next == base::Instant::never() ? -1 : io::milliseconds_until(next);
  }

  // A queue that never empties makes no visitor wait for longer than this.
  void accept_all() {
    for (int i = 0; i < kBacklog; ++i) {
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

  // Without descriptors: closes one connection with the help of the spare one. A host that waits in
  // the queue instead would not know.
  bool turn_one_away() {
    users_.on_event(event_of_address(JoinEvent::limited, "",
                                     "no descriptors are left for connections (RLIMIT_NOFILE)"));
    spare_ = io::FileDescriptor();
    const bool closed = io::FileDescriptor(accept(listener_.get(), nullptr, nullptr)).is_open();
    spare_ = spare();
    if (closed) return true;
    io::rest(kRest);  // the socket stays readable, and nothing can be accepted
    return false;
  }

  void admit(io::FileDescriptor socket, const io::SocketAddress& from) {
    std::string address = limited_address(from);
    if (const Answer<void> admitted = gate_.open(address); !admitted) {
      say_goodbye(std::move(socket), frame_of(reply_of(admitted.error())));
      return;
    }
    const int on = 1;
    setsockopt(socket.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
    const int descriptor = socket.get();
    watch(descriptor);
    by_time_.push_back(descriptor);
    visitors_.emplace(descriptor,
                      Visitor{std::move(socket), from, std::move(address), FirstContact(tls_.get()),
                              Visitor::none, now_ + silence_max_, std::prev(by_time_.end())});
  }

  void listen_to(Visitors::iterator found) {
    Visitor& own = found->second;
    std::array<char, kRequestBytesMax + kLengthBytes> buffer;
    const ssize_t bytes = recv(own.socket.get(), buffer.data(), buffer.size(), 0);
    if (bytes < 0 && (errno == EAGAIN || errno == EINTR)) return;
    if (bytes <= 0) return forget(found);
    answer(found, own.contact.receive({buffer.data(), static_cast<std::size_t>(bytes)}));
  }

  void answer(Visitors::iterator found, FirstContact::Step step) {
    Visitor& own = found->second;
    if (step == FirstContact::Step::asks) return open_handshake(found);
    const std::string output = own.contact.take_output();
    if (step == FirstContact::Step::is_refused) {
      users_.on_event(event_of_address(JoinEvent::refused, own.address, own.contact.reason()));
      say_goodbye(std::move(own.socket), output);
      return forget(found);
    }
    say(own.socket.get(), output);
    if (step == FirstContact::Step::listens) return;
    Arrival arrival = {std::move(own.socket),
                       own.from,
                       own.address,
                       std::move(own.contact.hello()),
                       own.contact.take_rest(),
                       own.contact.take_session()};
    watch_no_more(arrival.socket.get());
    drop(found);
    users_.take(std::move(arrival));
  }

  // The gate has told of its limit.
  void open_handshake(Visitors::iterator found) {
    Visitor& own = found->second;
    if (const Answer<void> may = gate_.handshake(own.address); !may) {
      own.contact.turn_away(may.error());
      say_goodbye(std::move(own.socket), own.contact.take_output());
      return forget(found);
    }
    if (places_.take(own.address, found->first)) {
      own.handshake = Visitor::begun;
      return answer(found, own.contact.shake_hands());
    }
    own.handshake = Visitor::waits;
    watch_no_more(found->first);  // what else it says waits in its socket
  }

  // The loop ends, because each turn needs a connection that waits.
  void begin_waiting() {
    while (!ready_.empty()) {
      const auto found = visitors_.find(ready_.front());
      ready_.pop_front();
      found->second.handshake = Visitor::begun;
      watch(found->first);
      answer(found, found->second.contact.shake_hands());
    }
  }

  // A connection that is new has room for so little, unless its other end wants it not to.
  static void say(int socket, const std::string& output) {
    if (!output.empty()) {
      [[maybe_unused]] const ssize_t sent =
          send(socket, output.data(), output.size(), MSG_NOSIGNAL);
    }
  }

  // A connection that is closed with bytes unread is reset, and the other end may not read what was
  // sent before. Therefore this one stays for a moment.
  void say_goodbye(io::FileDescriptor socket, const std::string& last) {
    watch_no_more(socket.get());
    say(socket.get(), last);
    shutdown(socket.get(), SHUT_WR);
    if (goodbyes_.size() == kGoodbyesMax) goodbyes_.pop_front();
    goodbyes_.push_back({std::move(socket), now_ + kGoodbye});
  }

  void forget(Visitors::iterator found) {
    gate_.close(found->second.address);
    drop(found);
  }

  void drop(Visitors::iterator found) {
    Visitor& own = found->second;
    if (own.handshake == Visitor::waits) {
      places_.forget(own.address, found->first);
    } else if (own.handshake != Visitor::none) {
      ready_.remove(found->first);
      if (const std::optional<int> next = places_.give_back(own.address)) {
        visitors_.at(*next).handshake = Visitor::ready;
        ready_.push_back(*next);
      }
    }
    by_time_.erase(own.place);
    visitors_.erase(found);
  }

  void close_late() {
    while (!by_time_.empty() && visitors_.at(by_time_.front()).until <= now_) {
      const auto found = visitors_.find(by_time_.front());
      const Refusal late = refusal(sentences::kLateHello);
      found->second.contact.refuse(late);
      say_goodbye(std::move(found->second.socket), found->second.contact.take_output());
      forget(found);
    }
    while (!goodbyes_.empty() && goodbyes_.front().until <= now_) goodbyes_.pop_front();
  }

  io::FileDescriptor listener_;
  const io::FileDescriptor epoll_;
  const io::Doorbell bell_;
  ConnectionGate& gate_;
  const base::Duration silence_max_;
  const std::shared_ptr<const TlsContext> tls_;  // null: ranks join without TLS
  Users users_;
  std::atomic<bool> stops_ = false;
  io::FileDescriptor spare_ = spare();
  base::Instant now_ = io::monotonic_now();
  HandshakePlaces places_;
  std::list<int> ready_;  // waited for a place, and have one now
  Visitors visitors_;     // by their descriptors
  std::list<int> by_time_;
  std::list<Goodbye> goodbyes_;  // by time
  std::thread thread_;
};

base::Result<std::unique_ptr<FrontDoor>> FrontDoor::listen(const io::SocketAddress& address,
                                                           ConnectionGate& gate,
                                                           base::Duration silence_max,
                                                           std::shared_ptr<const TlsContext> tls) {
  base::Result<io::FileDescriptor> listener = listen_on(address);
  if (!listener) return tl::unexpected(listener.error());
  io::FileDescriptor epoll(epoll_create1(EPOLL_CLOEXEC));
  if (!epoll.is_open()) {
    return base::fail(base::Code::resource_exhausted, "join", "out of files", errno);
  }
  base::Result<io::Doorbell> bell = io::Doorbell::open();
  if (!bell) return tl::unexpected(bell.error());
  return std::unique_ptr<FrontDoor>(
      new FrontDoor(std::make_unique<State>(std::move(*listener), std::move(epoll),
                                            std::move(*bell), gate, silence_max, std::move(tls))));
}

FrontDoor::FrontDoor(std::unique_ptr<State> state) : state_(std::move(state)) {}
FrontDoor::~FrontDoor() = default;

void FrontDoor::start(Users users) { state_->start(std::move(users)); }
void FrontDoor::stop() { state_->stop(); }

io::SocketAddress FrontDoor::address() const { return state_->address(); }

}  // namespace infold::join
