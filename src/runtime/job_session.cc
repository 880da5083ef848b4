// SPDX-License-Identifier: Apache-2.0
//
// Joining, step by step: the route decides address and MTU, the control planes the rest.
#include "runtime/job_session.h"

#include <algorithm>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>
#include <utility>

#include "base/prng.h"
#include "io/clock.h"
#include "io/entropy.h"
#include "io/udp_port.h"
#include "numeric/codec.h"
#include "runtime/switch_server.h"

namespace infold::runtime {
namespace {

constexpr std::uint32_t kSmallSlots = 64;
constexpr std::uint32_t kBulkSlots = 448;
constexpr int kMtuMost = 9216;

Error unavailable(std::string message, int rank = -1) {
  return {Code::unavailable, "join: " + std::move(message), rank, ""};
}

Error error_of(const control::Refusal& refusal) {
  Code code = Code::unavailable;
  switch (refusal.reason) {
    case control::RefusalReason::invalid: code = Code::invalid_argument; break;
    case control::RefusalReason::mismatch: code = Code::mismatch; break;
    case control::RefusalReason::full: code = Code::resource_exhausted; break;
    case control::RefusalReason::too_late: code = Code::deadline_exceeded; break;
    case control::RefusalReason::in_use:
    case control::RefusalReason::stopping: break;
  }
  return {code, "join: " + refusal.message, refusal.rank, ""};
}

Error error_of(const base::Error& error, const std::string& subject) {
  return unavailable(subject + " " + error.detail);
}

struct Route {
  io::SocketAddress local;
  int mtu_bytes = 0;
};

// What the kernel would do with a packet to there: connecting a datagram socket sends none.
Result<Route> route_to(const io::SocketAddress& there) {
  const int fd = socket(there.data()->sa_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return tl::unexpected(unavailable("cannot open a socket"));
  Route route;
  sockaddr_storage local = {};
  socklen_t local_bytes = sizeof(local);
  socklen_t mtu_bytes = sizeof(route.mtu_bytes);
  const bool found =
      connect(fd, there.data(), there.bytes()) == 0 &&
      getsockname(fd, reinterpret_cast<sockaddr*>(&local), &local_bytes) == 0 &&
      getsockopt(fd, there.is_ipv6() ? IPPROTO_IPV6 : IPPROTO_IP,
                 there.is_ipv6() ? IPV6_MTU : IP_MTU, &route.mtu_bytes, &mtu_bytes) == 0;
  close(fd);
  if (!found) return tl::unexpected(unavailable("there is no route to " + there.text()));
  route.local = {reinterpret_cast<const sockaddr*>(&local), local_bytes};
  route.local.set_port(0);
  route.mtu_bytes = std::min(route.mtu_bytes, kMtuMost);
  return route;
}

int header_bytes(const io::SocketAddress& address) { return address.is_ipv6() ? 48 : 28; }

}  // namespace

Result<std::unique_ptr<JobSession>> JobSession::join(const JoinOptions& options, Seat& seat) {
  std::unique_ptr<JobSession> session(new JobSession(options));
  if (Result<void> done = session->run(seat); !done) return tl::unexpected(done.error());
  return session;
}

JobSession::~JobSession() {
  for (Link& each : links_) each.link->leave();
  server_.reset();
}

Result<void> JobSession::run(Seat& seat) {
  if (Result<void> opened = open_sockets(); !opened) return opened;
  if (options_.sites == Sites::workers) {
    if (options_.rank == 0) {
      const auto listen = io::SocketAddress::parse(options_.rendezvous, "the rendezvous");
      if (!listen) return tl::unexpected(error_of(listen.error(), "the rendezvous"));
      registry_ = std::make_unique<control::JobRegistry>(nullptr, io::fresh_number());
      auto server = control::ControlServer::start(*listen, *registry_);
      if (!server) {
        return tl::unexpected(unavailable("rank 0 cannot listen at " + options_.rendezvous +
                                          "; is the port in use, and the address this host's?"));
      }
      server_ = std::move(*server);
    }
    if (Result<void> met = meet(options_.rendezvous); !met) return met;
  } else {
    for (const std::string& address : options_.switches) {
      if (Result<void> met = meet(address); !met) return met;
    }
  }
  return take_seat(seat);
}

Result<void> JobSession::open_sockets() {
  const std::string& first =
      options_.sites == Sites::workers ? options_.rendezvous : options_.switches.front();
  const auto there = io::SocketAddress::parse(first, "the address");
  if (!there) return tl::unexpected(error_of(there.error(), first));
  Result<Route> route = route_to(*there);
  if (!route) return tl::unexpected(route.error());
  local_ = route->local;
  if (!options_.address.empty()) {
    const bool is_ipv6 = options_.address.find(':') != std::string::npos;
    const auto given = io::SocketAddress::parse(
        (is_ipv6 ? "[" + options_.address + "]" : options_.address) + ":0", "the address");
    if (!given) return tl::unexpected(error_of(given.error(), options_.address));
    local_ = *given;
  }
  const int mtu = options_.mtu_bytes != 0 ? options_.mtu_bytes : route->mtu_bytes;
  datagram_bytes_max_ = static_cast<std::uint32_t>(mtu - header_bytes(local_));

  io::UdpOptions udp;
  udp.bind = local_;
  udp.datagram_bytes_max = datagram_bytes_max_;
  udp.offload = options_.offload;
  udp.keeps_blocked = true;
  auto socket = io::UdpSocket::open(udp);
  if (!socket) return tl::unexpected(error_of(socket.error(), local_.host_text()));
  socket_ = std::make_unique<io::UdpSocket>(std::move(*socket));
  if (!sums_itself()) return {};
  udp.keeps_blocked = false;
  udp.send_buffer_bytes = 16 << 20;
  auto site = io::UdpSocket::open(udp);
  if (!site) return tl::unexpected(error_of(site.error(), local_.host_text()));
  shard_ = std::make_unique<SwitchShard>(std::move(*site));
  return {};
}

control::RankWords JobSession::words(std::uint32_t datagram_bytes_max) const {
  control::RankWords words;
  words.job = options_.job;
  words.rank = static_cast<std::uint32_t>(options_.rank);
  words.world = static_cast<std::uint32_t>(options_.world);
  words.datagram_bytes_max = datagram_bytes_max;
  words.small_slots = kSmallSlots;
  words.bulk_slots = kBulkSlots;
  words.patience = std::chrono::duration_cast<std::chrono::milliseconds>(options_.deadline);
  // One link carries the ranks' own sites.
  if (shard_ && links_.empty()) {
    words.site = control::SiteAddress{shard_->address().text(),
                                      static_cast<std::uint32_t>(options_.worker_weight)};
  }
  return words;
}

Result<void> JobSession::meet(const std::string& address) {
  auto link = control::JobLink::join(address, words(datagram_bytes_max_));
  if (!link) return tl::unexpected(error_of(link.error()));
  links_.push_back({std::move(*link), 0});
  return {};
}

// All are here: the terms become a worker's options, and a port that reaches every site.
Result<void> JobSession::take_seat(Seat& seat) {
  core::WorkerOptions& worker = seat.worker;
  worker.rank = static_cast<std::uint16_t>(options_.rank);
  worker.world = static_cast<std::uint16_t>(options_.world);
  worker.limits.datagram_bytes_max = datagram_bytes_max_;
  worker.small_slots = kSmallSlots;
  worker.bulk_slots = kBulkSlots;
  worker.seed = base::mix64(static_cast<std::uint64_t>(io::monotonic_now().ns) + worker.rank);
  std::vector<io::SocketAddress> addresses;
  for (std::size_t i = 0; i < links_.size(); ++i) {
    const control::JobTerms& terms = links_[i].link->terms();
    links_[i].first_site = static_cast<std::uint8_t>(addresses.size());
    worker.limits.datagram_bytes_max =
        std::min(worker.limits.datagram_bytes_max, terms.datagram_bytes_max);
    worker.limits.elements_max = std::min(worker.limits.elements_max, terms.elements_max);
    worker.small_slots = std::min(worker.small_slots, terms.small_slots);
    worker.bulk_slots = std::min(worker.bulk_slots, terms.bulk_slots);
    if (i == 0 && shard_) shard_->add_job(aggregator_options(terms));
    for (const control::SiteAddress& site : terms.sites) {
      const std::string host =
          options_.sites == Sites::workers ? options_.rendezvous : options_.switches[i];
      const std::string text = site.address.front() == ':'
                                   ? host.substr(0, host.rfind(':')) + site.address
                                   : site.address;
      const auto address = io::SocketAddress::parse(text, "a site");
      if (!address) return tl::unexpected(error_of(address.error(), text));
      const bool mixes = options_.sites == Sites::mixed;
      const std::uint32_t weight =
          site.weight != 0 ? site.weight
                           : static_cast<std::uint32_t>(mixes ? options_.switch_weight : 1);
      worker.sites.push_back({static_cast<std::uint8_t>(options_.rank),
                              static_cast<std::uint16_t>(weight), terms.job, terms.epoch});
      addresses.push_back(*address);
      seat.site_names.push_back(address->text());
    }
  }
  if (addresses.size() > 64) return tl::unexpected(unavailable("a job has at most 64 sites"));
  for (Link& each : links_) {
    if (auto ready = each.link->ready(); !ready) return tl::unexpected(error_of(ready.error()));
  }
  seat.port = std::make_unique<io::UdpPort>(std::move(*socket_), std::move(addresses));
  socket_.reset();
  return {};
}

void JobSession::watch(const Listener& listener) {
  for (Link& each : links_) {
    each.link->watch([listener, site = each.first_site](std::optional<std::uint32_t> lost_rank) {
      if (lost_rank) {
        listener.on_rank_lost(*lost_rank);
      } else {
        listener.on_site_lost(site);
      }
    });
  }
}

}  // namespace infold::runtime
