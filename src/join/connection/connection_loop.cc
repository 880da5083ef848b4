// SPDX-License-Identifier: Apache-2.0
#include "join/connection/connection_loop.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <system_error>
#include <thread>
#include <unistd.h>
#include <utility>
#include <vector>

#include "base/mutex.h"
#include "io/address/tcp_connection.h"
#include "io/host/clock.h"
#include "io/host/patience.h"
#include "io/memory/doorbell.h"

namespace infold::join {
namespace {

using Number = std::uint64_t;

constexpr Number kBell = 0;
constexpr std::uint32_t kBroken = EPOLLHUP | EPOLLERR;
constexpr std::size_t kReadBytes = 16 << 10;
// After this the loop asks a conversation again that had no room.
constexpr base::Duration kPause = base::milliseconds(10);
constexpr base::Duration kConnectPauseMin = base::milliseconds(10);
constexpr base::Duration kConnectPauseMax = base::milliseconds(500);

io::Doorbell bell_of_loop() {
  base::Result<io::Doorbell> bell = io::Doorbell::open();
  if (!bell) {
    const auto reason = static_cast<int>(bell.error().value);
    throw std::system_error(reason, std::generic_category(), bell.error().detail);
  }
  return std::move(*bell);
}

}  // namespace

// The numbers of connections that other threads have woken. Wakers keep it, so it outlives the
// loop.
class ConnectionLoop::WakeList {
 public:
  void add(Number number) {
    const base::MutexLock lock(mutex_);
    if (woken_.empty()) bell_.ring();
    woken_.push_back(number);
  }
  std::vector<Number> take() {
    bell_.silence();
    const base::MutexLock lock(mutex_);
    return std::exchange(woken_, {});
  }
  const io::Doorbell& bell() const { return bell_; }

 private:
  const io::Doorbell bell_ = bell_of_loop();
  base::Mutex mutex_;
  std::vector<Number> woken_ GUARDED_BY(mutex_);
};

class ConnectionLoop::State {
 public:
  struct Connection {
    io::FileDescriptor socket;  // not open: waits to connect again
    io::SocketAddress there;    // set: it is to be connected
    std::shared_ptr<Conversation> conversation;
    bool is_connected = false;
    bool is_broken = false;
    bool hears = true;   // the other end has not ended its direction
    bool speaks = true;  // nor have we ours
    std::uint32_t events = 0;
    base::Duration connect_pause = kConnectPauseMin;
    base::Instant resumes_at = base::Instant::never();  // connecting, or reading
    base::Instant wakes_at = base::Instant::never();    // as it stands in times_
  };

  State() : epoll_(epoll_create1(EPOLL_CLOEXEC)) {
    if (!epoll_.is_open()) throw std::system_error(errno, std::generic_category(), "epoll");
    watch(wakes_->bell().descriptor(), kBell, EPOLLIN, EPOLL_CTL_ADD);
    thread_ = std::thread([this] { run(); });
  }
  ~State() {
    stops_ = true;
    wakes_->bell().ring();
    thread_.join();
  }

  void add(Connection&& connection) {
    const base::MutexLock lock(mutex_);
    ++count_;
    added_.push_back(std::move(connection));
    wakes_->bell().ring();
  }

  bool is_empty_by(base::Instant deadline) {
    const auto left = [&] { return std::chrono::nanoseconds((deadline - io::monotonic_now()).ns); };
    base::MutexLock lock(mutex_);
    return changed_.wait_for(lock, left(), [this]() REQUIRES(mutex_) { return count_ == 0; });
  }

 private:
  void watch(int descriptor, Number number, std::uint32_t events, int operation) {
    epoll_event event = {};
    event.events = events;
    event.data.u64 = number;
    epoll_ctl(epoll_.get(), operation, descriptor, &event);
  }

  void run() {
    while (!stops_) {
      std::array<epoll_event, 64> events;
      const int count = epoll_wait(epoll_.get(), events.data(), events.size(), patience_ms());
      now_ = io::monotonic_now();
      const std::vector<Number> woken = wakes_->take();
      take_new();  // after the bell is silent, so that no later one is missed
      for (int i = 0; i < count; ++i) {
        const epoll_event& event = events[static_cast<std::size_t>(i)];
        if (event.data.u64 != kBell) serve(event.data.u64, event.events);
      }
      for (const Number number : woken) serve(number, 0);
      pass_times();
    }
    take_new();
    while (!connections_.empty()) close(connections_.begin());
  }

  int patience_ms() const {
    return times_.empty() ? -1 : io::milliseconds_until(times_.begin()->first);
  }

  void take_new() {
    std::vector<Connection> added;
    {
      const base::MutexLock lock(mutex_);
      added.swap(added_);
    }
    for (Connection& each : added) {
      const Number number = ++last_;
      Connection& own = connections_[number] = std::move(each);
      own.is_connected = !own.there.is_set();
      own.conversation->begin([wakes = wakes_, number] { wakes->add(number); }, now_);
      if (own.is_connected) {
        watch(own.socket.get(), number, own.events = EPOLLIN, EPOLL_CTL_ADD);
      } else {
        start_connecting(number, own);
      }
      serve(number, 0);
    }
  }

  void pass_times() {
    while (!times_.empty() && times_.begin()->first <= now_) {
      const Number number = times_.begin()->second;
      Connection& own = connections_.at(number);
      times_.erase(times_.begin());
      own.wakes_at = base::Instant::never();
      if (own.conversation->deadline() <= now_) own.conversation->pass(now_);
      if (own.resumes_at <= now_) {
        own.resumes_at = base::Instant::never();
        if (!own.is_connected) start_connecting(number, own);
      }
      serve(number, 0);
    }
  }

  void start_connecting(Number number, Connection& own) {
    own.socket = io::start_to_connect(own.there);
    if (own.socket.is_open()) {
      watch(own.socket.get(), number, own.events = EPOLLOUT, EPOLL_CTL_ADD);
    } else {
      connect_later(own);
    }
  }

  void connect_later(Connection& own) {
    own.socket = io::FileDescriptor();
    own.resumes_at = now_ + own.connect_pause;
    own.connect_pause = std::min(own.connect_pause * 2, kConnectPauseMax);
  }

  void serve(Number number, std::uint32_t events) {
    const auto found = connections_.find(number);
    if (found == connections_.end()) return;
    Connection& own = found->second;
    if (!own.is_connected) {
      if (events != 0) note_connected(own);
    } else if (!own.is_broken) {
      const bool is_readable = (events & (EPOLLIN | kBroken)) != 0;
      if ((is_readable && !read(own, (events & kBroken) != 0)) || !write(own)) {
        own.is_broken = true;
        own.socket = io::FileDescriptor();
      }
    }
    const Conversation::Wish wish = own.conversation->wish();
    const bool is_done = wish == Conversation::Wish::finish && is_over(own);
    if (is_done || wish == Conversation::Wish::close) return close(found);
    set_interest(number, own);
    set_time(number, own);
  }

  static bool is_over(const Connection& own) {
    return own.is_broken || (!own.speaks && !own.hears);
  }

  void note_connected(Connection& own) {
    if (!io::has_connected(own.socket.get())) return connect_later(own);
    own.is_connected = true;
  }

  // False: the connection broke. epoll reports that until it is closed, so it does not wait for
  // room.
  bool read(Connection& own, bool is_broken) {
    const bool waits = own.resumes_at != base::Instant::never();
    const std::size_t room =
        own.hears && !waits ? std::min(own.conversation->room(now_), buffer_.size()) : 0;
    if (room == 0) {
      if (is_broken) own.conversation->hear_end("the connection was reset");
      if (own.hears && !waits) own.resumes_at = now_ + kPause;
      return !is_broken;
    }
    const ssize_t bytes = recv(own.socket.get(), buffer_.data(), room, 0);
    if (bytes > 0) {
      own.conversation->receive({buffer_.data(), static_cast<std::size_t>(bytes)}, now_);
      return true;
    }
    if (bytes < 0 && (errno == EAGAIN || errno == EINTR)) return true;
    own.hears = false;
    own.conversation->hear_end(bytes == 0 ? "" : std::generic_category().message(errno));
    return bytes == 0;
  }

  bool write(Connection& own) {
    if (!own.speaks) return true;
    for (;;) {
      const std::string_view output = own.conversation->output(now_);
      if (output.empty()) break;
      const ssize_t bytes = send(own.socket.get(), output.data(), output.size(), MSG_NOSIGNAL);
      if (bytes < 0 && errno == EINTR) continue;
      if (bytes < 0 && errno == EAGAIN) return true;
      if (bytes < 0) {
        own.conversation->hear_end(std::generic_category().message(errno));
        return false;
      }
      own.conversation->sent(static_cast<std::size_t>(bytes), now_);
    }
    if (own.conversation->wish() == Conversation::Wish::finish) {
      own.speaks = false;
      shutdown(own.socket.get(), SHUT_WR);
    }
    return true;
  }

  void set_interest(Number number, Connection& own) {
    if (!own.is_connected || own.is_broken) return;
    std::uint32_t events = 0;
    if (own.hears && own.resumes_at == base::Instant::never()) events |= EPOLLIN;
    if (own.speaks && !own.conversation->output(now_).empty()) events |= EPOLLOUT;
    if (events != own.events) watch(own.socket.get(), number, own.events = events, EPOLL_CTL_MOD);
  }

  void set_time(Number number, Connection& own) {
    const base::Instant time = std::min(own.conversation->deadline(), own.resumes_at);
    if (time == own.wakes_at) return;
    forget_time(number, own);
    own.wakes_at = time;
    if (time != base::Instant::never()) times_.insert({time, number});
  }

  void forget_time(Number number, const Connection& own) {
    if (own.wakes_at != base::Instant::never()) times_.erase({own.wakes_at, number});
  }

  using Connections = std::map<Number, Connection>;

  void close(Connections::iterator found) {
    forget_time(found->first, found->second);
    const std::shared_ptr<Conversation> conversation = std::move(found->second.conversation);
    connections_.erase(found);
    conversation->closed();
    const base::MutexLock lock(mutex_);
    if (--count_ == 0) changed_.notify_all();
  }

  const std::shared_ptr<WakeList> wakes_ = std::make_shared<WakeList>();
  const io::FileDescriptor epoll_;
  std::atomic<bool> stops_ = false;
  base::Mutex mutex_;
  base::ConditionVariable changed_;
  std::vector<Connection> added_ GUARDED_BY(mutex_);
  std::size_t count_ GUARDED_BY(mutex_) = 0;

  // The thread's own.
  Connections connections_;
  std::set<std::pair<base::Instant, Number>> times_;
  Number last_ = kBell;
  base::Instant now_;
  std::array<char, kReadBytes> buffer_;
  std::thread thread_;
};

ConnectionLoop::ConnectionLoop() : state_(std::make_unique<State>()) {}
ConnectionLoop::~ConnectionLoop() = default;

void ConnectionLoop::add(io::FileDescriptor socket, std::shared_ptr<Conversation> conversation) {
  State::Connection connection;
  connection.socket = std::move(socket);
  connection.conversation = std::move(conversation);
  state_->add(std::move(connection));
}

void ConnectionLoop::add(const io::SocketAddress& there,
                         std::shared_ptr<Conversation> conversation) {
  State::Connection connection;
  connection.there = there;
  connection.conversation = std::move(conversation);
  state_->add(std::move(connection));
}

bool ConnectionLoop::is_empty_by(base::Instant deadline) { return state_->is_empty_by(deadline); }

std::shared_ptr<ConnectionLoop> shared_loop() {
  static base::Mutex mutex;
  static std::weak_ptr<ConnectionLoop> shared;
  static pid_t process = 0;
  const base::MutexLock lock(mutex);
  std::shared_ptr<ConnectionLoop> loop = shared.lock();
  if (loop && process == getpid()) return loop;
  loop = std::make_shared<ConnectionLoop>();
  shared = loop;
  process = getpid();
  return loop;
}

}  // namespace infold::join
