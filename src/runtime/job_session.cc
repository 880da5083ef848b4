// SPDX-License-Identifier: Apache-2.0
//
// Joining, step by step: the route decides address and MTU, the control planes the rest.
#include "runtime/job_session.h"

#include <algorithm>
#include <future>
#include <utility>

#include "base/prng.h"
#include "control/job_registry.h"
#include "control/parties.h"
#include "core/site_order.h"
#include "io/clock.h"
#include "io/entropy.h"
#include "io/path_probe.h"
#include "io/udp_port.h"
#include "runtime/summing_port.h"
#include "runtime/switch_server.h"

namespace infold::runtime {
namespace {

constexpr std::uint32_t kSmallSlots = 64;
constexpr std::uint32_t kBulkSlots = 448;
constexpr int kMtuMost = 9216;
// Fifty tries: a path that loses a third of all packets passes.
constexpr base::Duration kProbeMax = base::seconds(1);

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
    case control::RefusalReason::given_up: code = Code::cancelled; break;
    case control::RefusalReason::in_use:
    case control::RefusalReason::broken:
    case control::RefusalReason::stopping: break;
  }
  return {code, "join: " + refusal.message, refusal.rank, ""};
}

Error error_of(const base::Error& error, const std::string& subject) {
  return unavailable(subject + " " + error.detail);
}

// Of most elements, as far as the format is chosen for all calls.
std::uint32_t element_bytes_of(WireFormat wire) {
  if (wire == WireFormat::bfp8) return 1;
  return wire == WireFormat::bfp16 ? 2 : 4;
}

// What failed first is the reason; the links that it stopped say only that they were.
void keep_reason(std::optional<control::Refusal>& why, const control::Refusal& refusal) {
  if (!why || why->reason == control::RefusalReason::given_up) why = refusal;
}

int header_bytes(const io::SocketAddress& address) { return address.is_ipv6() ? 48 : 28; }

}  // namespace

Result<std::unique_ptr<JobSession>> JobSession::join(const JoinOptions& options,
                                                     const CallHistory& history, Seat& seat) {
  std::unique_ptr<JobSession> session(new JobSession(options, history));
  if (Result<void> done = session->run(seat); !done) return tl::unexpected(done.error());
  return session;
}

JobSession::~JobSession() {
  for (Link& each : links_) each.link->leave(end_);
  server_.reset();
}

// Who leaves in good order is missed by nobody, and a lost switch is looked for again.
void JobSession::note_end(const core::Abort& abort) {
  using core::AbortReason;
  if (abort.reason != AbortReason::left && abort.reason != AbortReason::stopped) end_ = abort;
}

Result<void> JobSession::run(Seat& seat) {
  const std::stop_callback on_stop(options_.stop, [this] { joining_.request_stop(); });
  if (Result<void> opened = open_sockets(); !opened) return opened;
  const bool may_share = options_.shared_memory != SharedMemory::off && options_.world > 1;
  if (may_share) share_ = HostShare::open(options_.host);
  if (options_.sites == Sites::workers) {
    if (options_.rank == 0) {
      const auto listen = io::SocketAddress::parse(options_.rendezvous, "the rendezvous");
      if (!listen) return tl::unexpected(error_of(listen.error(), "the rendezvous"));
      registrar_ = std::make_unique<control::JobRegistry>(nullptr, io::fresh_number());
      auto server = control::ControlServer::start(*listen, *registrar_);
      if (!server) {
        return tl::unexpected(unavailable("rank 0 cannot listen at " + options_.rendezvous +
                                          "; is the port in use, and the address this host's?"));
      }
      server_ = std::move(*server);
      options_.rendezvous = server_->address().text();
      if (options_.on_rendezvous) options_.on_rendezvous(options_.rendezvous);
    }
    if (Result<void> met = meet_all({options_.rendezvous}); !met) return met;
  } else {
    if (Result<void> met = meet_all(options_.switches); !met) return met;
  }
  return take_seat(seat);
}

// The interface that an address was given for, else the best that reaches the first host.
Result<void> JobSession::choose_route() {
  const std::string& first =
      options_.sites == Sites::workers ? options_.rendezvous : options_.switches.front();
  const auto there = io::SocketAddress::parse(first, "the address");
  if (!there) return tl::unexpected(error_of(there.error(), first));
  if (options_.address.empty()) {
    const auto routes = io::routes_to(*there);
    if (!routes) return tl::unexpected(error_of(routes.error(), first));
    route_ = io::best_route(*routes);
    return {};
  }
  const auto route = io::route_to(*there);
  if (!route) return tl::unexpected(error_of(route.error(), first));
  const bool is_ipv6 = options_.address.find(':') != std::string::npos;
  const auto given = io::SocketAddress::parse(
      (is_ipv6 ? "[" + options_.address + "]" : options_.address) + ":0", "the address");
  if (!given) return tl::unexpected(error_of(given.error(), options_.address));
  route_ = *route;
  if (!(route_.local == *given)) route_.interface.clear();
  route_.local = *given;
  return {};
}

Result<void> JobSession::open_sockets() {
  if (Result<void> chosen = choose_route(); !chosen) return chosen;
  const int mtu =
      options_.mtu_bytes != 0 ? options_.mtu_bytes : std::min(route_.mtu_bytes, kMtuMost);
  datagram_bytes_max_ = static_cast<std::uint32_t>(mtu - header_bytes(route_.local));

  io::UdpOptions udp;
  udp.bind = route_.local;
  if (!route_.is_own) udp.device = route_.interface;
  udp.datagram_bytes_max = datagram_bytes_max_;
  udp.offload = options_.offload;
  udp.keeps_blocked = true;
  auto socket = io::UdpSocket::open(udp);
  if (!socket) return tl::unexpected(error_of(socket.error(), route_.local.host_text()));
  socket_ = std::make_unique<io::UdpSocket>(std::move(*socket));
  if (!sums_itself()) return {};
  udp.keeps_blocked = false;
  udp.send_buffer_bytes = 16 << 20;
  auto site = io::UdpSocket::open(udp);
  if (!site) return tl::unexpected(error_of(site.error(), route_.local.host_text()));
  shard_ = std::make_unique<SwitchShard>(std::move(*site));
  return {};
}

control::RankWords JobSession::words() const {
  control::RankWords words;
  words.job = options_.job;
  words.rank = static_cast<std::uint32_t>(options_.rank);
  words.world = static_cast<std::uint32_t>(options_.world);
  words.datagram_bytes_max = datagram_bytes_max_;
  words.small_slots = kSmallSlots;
  words.bulk_slots = kBulkSlots;
  words.patience = std::chrono::duration_cast<std::chrono::milliseconds>(options_.deadline);
  if (share_) words.host = share_->words();
  words.element_bytes = element_bytes_of(options_.wire);
  words.always_shares = options_.shared_memory == SharedMemory::always;
  if (shard_) {
    words.site = control::SiteAddress{shard_->address().text(),
                                      static_cast<std::uint32_t>(options_.worker_weight), true};
  }
  return words;
}

// All at once: each answers when all ranks have come to it, and ranks may name them in other
// orders.
Result<void> JobSession::meet_all(const std::vector<std::string>& addresses) {
  using Joined = control::Answer<std::unique_ptr<control::JobLink>>;
  std::vector<std::future<Joined>> meetings;
  control::RankWords own = words();
  control::JobLink::Limits limits;
  limits.connects_by = std::chrono::steady_clock::now() + options_.connect_deadline;
  limits.stop = joining_.get_token();
  limits.is_at_rank = options_.sites == Sites::workers;
  for (const std::string& address : addresses) {
    meetings.push_back(std::async(std::launch::async, [this, own, &address, &limits] {
      return or_stop(control::JobLink::join(address, own, limits));
    }));
    own.site.reset();  // the first link alone carries the ranks' own sites
  }
  std::optional<control::Refusal> why;
  for (std::future<Joined>& meeting : meetings) {
    Joined link = meeting.get();
    if (link) {
      links_.push_back({std::move(*link), 0});
    } else {
      keep_reason(why, link.error());
    }
  }
  if (why) return tl::unexpected(error_of(*why));
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
  worker.wall_clock_offset = io::wall_clock_offset();
  if (Result<void> found = find_sites(seat); !found) return found;
  if (shard_) {
    control::JobTerms flat = terms();  // what has sites of ranks has no groups, or no use for sites
    flat.groups.clear();
    flat.racks.clear();
    shard_->add_job(aggregator_options(flat), flat.small_slots);
  }
  if (Result<void> carried = probe_sites(worker.limits.datagram_bytes_max); !carried)
    return carried;
  const control::ReadyWords words = {meet_host(worker), core::site_order(worker.sites),
                                     options_.verify, history_.finished, history_.digest};
  if (Result<void> ready = all_ready(words); !ready) return ready;

  const std::vector<control::HostGroup>& groups = terms().groups;
  const control::HostGroup* const group = control::group_of(groups, worker.rank);
  is_one_host() ? place_on_one_host(worker) : place_at_sites(worker);
  if (is_one_host()) shard_.reset();
  if (group == nullptr) {
    share_.reset();
    seat.port = shard_ ? summing_port(worker)
                       : std::make_unique<io::UdpPort>(std::move(*socket_), site_addresses_);
  } else {
    seat.port = share_->take_port();
    for (core::SiteOptions& site : worker.sites) site.takes_sparse = true;  // at the leader
    for (std::string& name : seat.site_names) {
      name += " (through rank " + std::to_string(group->ranks.first) + ")";
    }
    if (group->ranks.first == worker.rank) lead(worker, *group);
  }
  socket_.reset();
  if (!is_one_host() && (group == nullptr || group->ranks.first == worker.rank)) {
    seat.paths.interface = route_.local.host_text();
    if (!route_.interface.empty()) seat.paths.interface += " (" + route_.interface + ")";
  }
  for (const control::HostGroup& each : groups) seat.paths.ranks_in_memory += each.ranks.count;
  seat.paths.parties_on_network =
      is_one_host()
          ? 0
          : static_cast<std::uint32_t>(control::parties_of(groups, {}, worker.world).size());
  return {};
}

// From here on the worker's driver serves this rank's site.
std::unique_ptr<io::DatagramPort> JobSession::summing_port(core::WorkerOptions& worker) {
  const auto own = std::find(site_addresses_.begin(), site_addresses_.end(), shard_->address()) -
                   site_addresses_.begin();
  core::SiteOptions& site = worker.sites[static_cast<std::size_t>(own)];
  site.is_own = true;
  std::unique_ptr<AggregationSite> aggregators = shard_->take_site();
  aggregators->adopt(site.job, site.worker);
  shard_.reset();
  return std::make_unique<SummingPort>(
      std::make_unique<io::UdpPort>(std::move(*socket_), site_addresses_), std::move(aggregators),
      io::Peer{static_cast<std::uint32_t>(own)});
}

Result<void> JobSession::find_sites(Seat& seat) {
  core::WorkerOptions& worker = seat.worker;
  for (std::size_t i = 0; i < links_.size(); ++i) {
    const control::JobTerms& terms = links_[i].link->terms();
    links_[i].first_site = static_cast<std::uint8_t>(site_addresses_.size());
    worker.limits.datagram_bytes_max =
        std::min(worker.limits.datagram_bytes_max, terms.datagram_bytes_max);
    worker.limits.elements_max = std::min(worker.limits.elements_max, terms.elements_max);
    worker.small_slots = std::min(worker.small_slots, terms.small_slots);
    worker.bulk_slots = std::min(worker.bulk_slots, terms.bulk_slots);
    const std::string& met_at =
        options_.sites == Sites::workers ? options_.rendezvous : options_.switches[i];
    const std::string host = met_at.substr(0, met_at.rfind(':'));
    for (const control::SiteAddress& site : terms.sites) {
      const std::string text = site.address.front() == ':' ? host + site.address : site.address;
      const auto address = io::SocketAddress::parse(text, "a site");
      if (!address) return tl::unexpected(error_of(address.error(), text));
      const bool mixes = options_.sites == Sites::mixed;
      const std::uint32_t weight =
          site.weight != 0 ? site.weight
                           : static_cast<std::uint32_t>(mixes ? options_.switch_weight : 1);
      core::SiteOptions& own = worker.sites.emplace_back();
      own.weight = static_cast<std::uint16_t>(weight);
      own.job = terms.job;
      own.epoch = terms.epoch;
      own.takes_sparse = site.takes_sparse;
      site_addresses_.push_back(*address);
      std::string where;
      // Ranks that sum for each other are the sites, in their order.
      if (options_.sites == Sites::workers) {
        where = " (on rank " + std::to_string(seat.site_names.size()) + ")";
      } else if (!site.at_rank && !terms.parent.empty()) {
        where = " (below " + terms.parent + ")";
      }
      seat.site_names.push_back(address->text() + where);
    }
  }
  if (site_addresses_.size() > 64) return tl::unexpected(unavailable("a job has at most 64 sites"));
  return {};
}

// Whether packets of full size pass to each site and back, unless the job is to need no network.
Result<void> JobSession::probe_sites(std::size_t datagram_bytes) {
  if (is_one_host()) return {};
  const base::Duration limit = std::min(base::Duration{options_.deadline.count() / 4}, kProbeMax);
  for (const io::SocketAddress& site : site_addresses_) {
    const io::PathReport report = io::probe_path(*socket_, site, datagram_bytes, limit);
    if (report.carries) continue;
    if (!report.answers) {
      return tl::unexpected(unavailable(
          "nothing comes back over UDP from " + site.text() + ", though its job could be joined; " +
          "does a firewall between this host (" + route_.local.host_text() + ") and it drop UDP?"));
    }
    const std::size_t mtu = datagram_bytes + static_cast<std::size_t>(header_bytes(site));
    return tl::unexpected(unavailable(
        "packets of " + std::to_string(mtu) + " bytes do not come back from " + site.text() +
        ", smaller ones do: the path carries less than its ends say; choose a smaller MTU"));
  }
  return {};
}

Result<void> JobSession::all_ready(const control::ReadyWords& words) {
  std::vector<std::future<control::Answer<void>>> answers;
  for (Link& each : links_) {
    answers.push_back(std::async(std::launch::async, [this, &link = *each.link, &words] {
      return or_stop(link.ready(words));
    }));
  }
  std::optional<control::Refusal> why;
  for (std::future<control::Answer<void>>& answer : answers) {
    const control::Answer<void> each = answer.get();
    if (!each) keep_reason(why, each.error());
  }
  if (why) return tl::unexpected(error_of(*why));
  for (const Link& each : links_) {
    if (each.link->terms().groups == terms().groups) continue;
    return tl::unexpected(unavailable("the switches disagree about which ranks share a host"));
  }
  return {};
}

// To a site this rank, or its host group, is one of those that meet there: in its rack, or besides
// racks, or at a rank's site, which knows none.
std::uint8_t JobSession::party_at(std::size_t site) const {
  const auto is_before = [site](const Link& each) { return each.first_site <= site; };
  const Link& link = *std::find_if(links_.rbegin(), links_.rend(), is_before);
  const control::JobTerms& terms = link.link->terms();
  const auto rank = static_cast<std::uint32_t>(options_.rank);
  const core::RankRange* const rack = control::rack_of(terms.racks, rank);
  const bool at_rank = terms.sites[site - link.first_site].at_rank;
  if (at_rank) return control::party_of(control::parties_of(terms.groups, {}, terms.world), rank);
  if (rack != nullptr) return control::party_of(control::parties_of(terms.groups, *rack), rank);
  return control::party_of(control::parties_of(terms.groups, terms.racks, terms.world), rank);
}

void JobSession::place_at_sites(core::WorkerOptions& worker) const {
  const control::HostGroup* const group = control::group_of(terms().groups, worker.rank);
  worker.limits.tree =
      !terms().groups.empty() || std::any_of(links_.begin(), links_.end(), [](const Link& each) {
        return !each.link->terms().racks.empty();
      });
  for (std::size_t site = 0; site < worker.sites.size(); ++site) {
    worker.sites[site].worker = group != nullptr
                                    ? static_cast<std::uint8_t>(worker.rank - group->ranks.first)
                                    : party_at(site);
  }
}

void JobSession::watch(const Listener& listener) {
  for (Link& each : links_) {
    each.link->watch([listener, site = each.first_site](const control::JobEnd& end) {
      if (end.abort) {
        listener.on_end(*end.abort);
      } else if (end.lost_rank) {
        listener.on_rank_lost(*end.lost_rank);
      } else {
        listener.on_site_lost(site, end.lost_switch);
      }
    });
  }
}

}  // namespace infold::runtime
