// SPDX-License-Identifier: Apache-2.0
//
// One thread serves all connections with poll(). It reads the request, writes the answer, and then
// reads until the client closes. If it closed a socket with unread bytes, the kernel would send a
// reset, and the client could lose the answer.
#include "io/page/page_server.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <netinet/in.h>
#include <optional>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <string_view>
#include <sys/socket.h>
#include <thread>
#include <unistd.h>
#include <utility>
#include <vector>

#include "base/instant.h"
#include "io/address/listen.h"
#include "io/host/clock.h"
#include "io/host/file_descriptor.h"
#include "io/memory/doorbell.h"
#include "io/page/http_request.h"

namespace infold::io {
namespace {

using base::Code;
using base::Instant;

constexpr std::size_t kConnectionsMax = 16;
constexpr base::Duration kPatience = base::seconds(5);  // for a connection, until its last byte
constexpr base::Duration kFresh = base::milliseconds(100);
// The limit for one client includes what it sends after its request.
constexpr std::size_t kBytesMax = 64 << 10;
// How long the server stops accepting connections when the process has run out of descriptors.
constexpr base::Duration kPause = base::milliseconds(100);

class Connection {
 public:
  Connection(FileDescriptor socket, Instant deadline)
      : socket_(std::move(socket)), deadline_(deadline) {}

  Instant deadline() const { return deadline_; }
  pollfd wish() const {
    return {socket_.get(), static_cast<short>(is_writing() ? POLLOUT : POLLIN), 0};
  }

  // Reads what has arrived. Returns the status of the answer once it is known.
  std::optional<HttpStatus> read(std::string_view path) {
    std::array<char, 1024> room;
    const ssize_t bytes = recv(socket_.get(), room.data(), room.size(), 0);
    if (bytes < 0 && (errno == EAGAIN || errno == EINTR)) return std::nullopt;
    received_ += static_cast<std::size_t>(std::max<ssize_t>(bytes, 0));
    is_over_ = bytes <= 0 || received_ > kBytesMax;
    if (is_over_ || is_answered_) return std::nullopt;
    request_.append(room.data(), static_cast<std::size_t>(bytes));
    return judge_request(request_, path);
  }
  void answer(std::string text) {
    is_answered_ = true;
    answer_ = std::move(text);
  }
  bool is_writing() const { return is_answered_ && sent_ < answer_.size(); }
  void write() {
    const ssize_t bytes =
        send(socket_.get(), answer_.data() + sent_, answer_.size() - sent_, MSG_NOSIGNAL);
    if (bytes > 0) sent_ += static_cast<std::size_t>(bytes);
    is_over_ = bytes < 0 && errno != EAGAIN && errno != EINTR;
    if (!is_writing()) shutdown(socket_.get(), SHUT_WR);
  }
  bool is_over() const { return is_over_; }

 private:
  FileDescriptor socket_;
  Instant deadline_;
  std::size_t received_ = 0;
  std::string request_;  // at most kRequestBytesMax plus one read
  std::string answer_;
  std::size_t sent_ = 0;
  bool is_answered_ = false;
  bool is_over_ = false;
};

}  // namespace

class PageServer::State {
 public:
  State(PageOptions options, FileDescriptor listener, Doorbell bell)
      : options_(std::move(options)), listener_(std::move(listener)), bell_(std::move(bell)) {
    // The server's thread blocks all signals, so that the program's own threads handle them.
    sigset_t all;
    sigset_t before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    thread_ = std::thread([this] { run(); });
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
  }
  ~State() {
    bell_.ring();
    thread_.join();
  }

  SocketAddress address() const {
    sockaddr_storage address{};
    socklen_t bytes = sizeof(address);
    getsockname(listener_.get(), reinterpret_cast<sockaddr*>(&address), &bytes);
    return {reinterpret_cast<const sockaddr*>(&address), bytes};
  }

 private:
  void run() {
    for (;;) {
      std::vector<pollfd> wishes = {{bell_.descriptor(), POLLIN, 0}, {listener_.get(), POLLIN, 0}};
      if (monotonic_now() < lets_in_from_) wishes[1].fd = -1;
      for (const Connection& each : connections_) wishes.push_back(each.wish());
      poll(wishes.data(), wishes.size(), milliseconds_to_wait());
      if (wishes[0].revents != 0) return;
      const Instant now = monotonic_now();
      for (std::size_t i = 0; i < connections_.size(); ++i) {
        if (wishes[i + 2].revents != 0) serve(connections_[i], now);
      }
      std::erase_if(connections_, [now](const Connection& each) {
        return each.is_over() || each.deadline() <= now;
      });
      if (wishes[1].revents != 0) let_in(now);
    }
  }

  int milliseconds_to_wait() const {
    Instant first = Instant::never();
    for (const Connection& each : connections_) first = std::min(first, each.deadline());
    const Instant now = monotonic_now();
    if (now < lets_in_from_) first = std::min(first, lets_in_from_);
    if (first == Instant::never()) return -1;
    return static_cast<int>(std::max<std::int64_t>(0, (first - now).ns / 1'000'000 + 1));
  }

  void let_in(Instant now) {
    FileDescriptor file(accept4(listener_.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
    if (!file.is_open()) {
      if (errno != EAGAIN && errno != EINTR && errno != ECONNABORTED) lets_in_from_ = now + kPause;
      return;
    }
    // The first connection is the oldest.
    if (connections_.size() == kConnectionsMax) connections_.erase(connections_.begin());
    connections_.emplace_back(std::move(file), now + kPatience);
  }

  void serve(Connection& connection, Instant now) {
    if (connection.is_writing()) return connection.write();
    const std::optional<HttpStatus> status = connection.read(options_.path);
    if (!status) return;
    if (*status == HttpStatus::ok && page_until_ <= now) {
      page_ = options_.write();
      page_until_ = now + kFresh;
    }
    connection.answer(http_answer(*status, options_.content_type, page_));
    connection.write();
  }

  PageOptions options_;
  FileDescriptor listener_;
  Doorbell bell_;
  std::vector<Connection> connections_;
  Instant lets_in_from_;
  std::string page_;
  Instant page_until_;
  std::thread thread_;
};

base::Result<std::unique_ptr<PageServer>> PageServer::start(PageOptions options) {
  base::Result<FileDescriptor> listener = listen_at(options.listen, "bind");
  if (!listener) return tl::unexpected(listener.error());
  base::Result<Doorbell> bell = Doorbell::open();
  if (!bell) return tl::unexpected(bell.error());
  return std::unique_ptr<PageServer>(new PageServer(
      std::make_unique<State>(std::move(options), std::move(*listener), std::move(*bell))));
}

PageServer::PageServer(std::unique_ptr<State> state) : state_(std::move(state)) {}
PageServer::~PageServer() = default;
SocketAddress PageServer::address() const { return state_->address(); }

}  // namespace infold::io
