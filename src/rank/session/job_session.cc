// SPDX-License-Identifier: Apache-2.0
#include "rank/session/job_session.h"

#include <algorithm>
#include <thread>
#include <utility>

#include "base/prng.h"
#include "core/site_order.h"
#include "io/host/clock.h"
#include "io/udp/udp_endpoint.h"
#include "join/job_plan.h"
#include "keys/token/join_strings.h"
#include "plan/driver_shares.h"
#include "rank/session/host/host_plan.h"
#include "rank/session/join_error.h"
#include "rank/session/path/driver_count.h"

namespace infold::rank {
namespace {

constexpr std::uint32_t kSmallSlots = 64;
constexpr std::uint32_t kBulkSlots = 448;
// Longer deadlines are cut to a year, so that sums of times cannot overflow.
constexpr std::chrono::nanoseconds kDeadlineMax = std::chrono::hours(24 * 365);
// How long ranks of a host may take to meet before they use the network instead. Meeting takes some
// milliseconds, unless the host is very busy or one of the ranks has stopped.
constexpr base::Duration kMeetingMax = base::seconds(3);

// Bytes of most elements on the wire, as far as the options choose one format for all calls.
std::uint32_t element_bytes_of(WireFormat wire) {
  if (wire == WireFormat::bfp8) return 1;
  return wire == WireFormat::bfp16 ? 2 : 4;
}

// Whether calls may choose the native format. Kernels reserve memory for it only if all ranks of a
// job want it.
bool wants_native(WireFormat wire) {
  return wire == WireFormat::native || wire == WireFormat::automatic;
}

}  // namespace

Result<std::unique_ptr<JobSession>> JobSession::join(const JoinOptions& options,
                                                     const CallHistory& history, Setup& setup) {
  std::unique_ptr<JobSession> session(new JobSession(options));
  Result<void> done = session->run(history, setup);
  if (done) return session;
  if (session->links_) session->links_->give_up(done.error(), options.rank);
  return tl::unexpected(std::move(done.error()));
}

JobSession::JobSession(const JoinOptions& options)
    : options_(options),
      deadline_(io::monotonic_now() +
                base::Duration{std::min(options.deadline, kDeadlineMax).count()}) {}

JobSession::~JobSession() {
  if (links_) links_->leave(end_);
  rendezvous_.reset();
}

Result<void> JobSession::run(const CallHistory& history, Setup& setup) {
  if (Result<void> found = find_hosts(); !found) return found;
  if (Result<void> opened = open_sockets(); !opened) return opened;
  if (Result<void> opened = open_rendezvous(); !opened) return opened;
  if (Result<void> met = meet(); !met) return met;
  if (Result<void> settled = settle_terms(history); !settled) return settled;
  if (Result<void> opened = open_driver_sockets(); !opened) return opened;
  set_up(setup);
  return {};
}

// Looks up names only once, so that all later steps use the same hosts.
Result<void> JobSession::find_hosts() {
  if (options_.sites == Sites::workers) return find_rendezvous();
  const auto strings = keys::read_join_strings(options_.switches);
  if (!strings) return tl::unexpected(unavailable(strings.error()));
  for (const keys::JoinString& each : *strings) {
    const Result<io::SocketAddress> found = look_up_host(each.place, deadline_, options_.stop);
    if (!found) return tl::unexpected(found.error());
    hosts_.push_back({each.place, *found, each.fingerprint, each.token});
  }
  return {};
}

Result<void> JobSession::find_rendezvous() {
  const std::string place(keys::place_of(options_.rendezvous));
  const Result<io::SocketAddress> found = look_up_host(place, deadline_, options_.stop);
  if (!found) return tl::unexpected(found.error());
  hosts_.push_back({place, *found});
  if (place.size() == options_.rendezvous.size()) return {};
  auto keys = keys::RendezvousKeys::of(options_.rendezvous.substr(place.size() + 1));
  if (!keys)
    return tl::unexpected(unavailable(std::string("the secret of the rendezvous ") + keys.error()));
  rendezvous_keys_ = std::move(*keys);
  hosts_.back().fingerprint = rendezvous_keys_->identity.fingerprint();
  hosts_.back().token = rendezvous_keys_->token;
  return {};
}

Error JobSession::cannot_send(const base::Error& error) const {
  return unavailable("cannot send from " + route_.route.local.host_text() + ": " + error.detail +
                     "; choose an address of this host with JoinOptions.address or INFOLD_ADDRESS");
}

Result<void> JobSession::open_sockets() {
  Result<PacketRoute> route =
      PacketRoute::choose(options_, hosts_.front().name, hosts_.front().address);
  if (!route) return tl::unexpected(std::move(route.error()));
  route_ = std::move(*route);
  const io::UdpOptions udp = udp_options();
  auto socket = io::UdpSocket::open(udp);
  if (!socket) return tl::unexpected(cannot_send(socket.error()));
  socket_ = std::make_unique<io::UdpSocket>(std::move(*socket));
  if (options_.shared_memory != SharedMemory::off && options_.world > 1) {
    share_ = HostShare::open(options_.host);
  }
  if (options_.sites == Sites::switches) return {};
  auto site = OwnSite::open(udp);
  if (!site) return tl::unexpected(cannot_send(site.error()));
  own_site_ = std::move(*site);
  return {};
}

io::UdpOptions JobSession::udp_options() const {
  io::UdpOptions udp = route_.udp_options();
  udp.offload = options_.offload;
  udp.keeps_blocked = true;
  return udp;
}

std::uint32_t JobSession::driver_count() const {
  if (!is_on_network()) return 1;
  const int sites = static_cast<int>(table_.plan.trees.size());
  const int processors = static_cast<int>(std::thread::hardware_concurrency());
  const int count =
      options_.drivers > 0
          ? std::min(options_.drivers, sites)
          : automatic_drivers({route_.route.speed_mbps, processors, options_.local_world, sites});
  return static_cast<std::uint32_t>(count);
}

// Sites answer to the port that a packet came from, so additional sockets do not need another step.
Result<void> JobSession::open_driver_sockets() {
  for (std::uint32_t i = 1; i < driver_count(); ++i) {
    auto socket = io::UdpSocket::open(udp_options());
    if (!socket) return tl::unexpected(cannot_send(socket.error()));
    driver_sockets_.push_back(std::move(*socket));
  }
  return {};
}

Result<void> JobSession::open_rendezvous() {
  if (options_.sites != Sites::workers || options_.rank != 0) return {};
  HostLinks::Host& host = hosts_.front();
  auto opened =
      Rendezvous::open(host.name, host.address, rendezvous_keys_ ? &*rendezvous_keys_ : nullptr);
  if (!opened) return tl::unexpected(std::move(opened.error()));
  rendezvous_ = std::move(*opened);
  host.name = rendezvous_->address().text();
  host.address = rendezvous_->address();
  if (options_.on_rendezvous) options_.on_rendezvous(host.name);
  return {};
}

join::Hello JobSession::hello() const {
  join::Hello hello;
  hello.job = options_.job;
  hello.rank = static_cast<std::uint32_t>(options_.rank);
  hello.world = static_cast<std::uint32_t>(options_.world);
  hello.datagram_bytes_max = route_.datagram_bytes_max;
  hello.small_slots = kSmallSlots;
  hello.bulk_slots = kBulkSlots;
  hello.patience = std::chrono::duration_cast<std::chrono::milliseconds>(options_.deadline);
  hello.source = socket_->local_address();
  if (share_) hello.host = share_->rank_host();
  hello.element_bytes = element_bytes_of(options_.wire);
  hello.always_shares = options_.shared_memory == SharedMemory::always;
  hello.wants_native = wants_native(options_.wire);
  hello.takes_brief = true;
  if (own_site_) {
    hello.site = own_site_->site_address(static_cast<std::uint32_t>(options_.worker_weight));
  }
  return hello;
}

Result<void> JobSession::meet() {
  const base::Instant now = io::monotonic_now();
  const base::Duration connects_in =
      std::min(base::Duration{options_.connect_deadline.count()}, deadline_ - now);
  links_.emplace(HostLinks::Options{hosts_, deadline_, now + connects_in,
                                    options_.sites == Sites::workers, options_.stop});
  return links_->join(hello());
}

// When all ranks have come, makes a plan of the terms, and tries the network path and the shared
// memory.
Result<void> JobSession::settle_terms(const CallHistory& history) {
  SiteTableInput input = {options_, route_.datagram_bytes_max, kSmallSlots, kBulkSlots, {}};
  if (own_site_) input.own_site = own_site_->address();
  Result<SiteTable> table = find_sites(input, links_->host_terms());
  if (!table) return tl::unexpected(std::move(table.error()));
  table_ = std::move(*table);
  // A job on one host uses neither the network nor the sites' slots.
  if (!is_one_host()) {
    if (own_site_) own_site_->serve(terms());
    const base::Duration limit =
        std::min(base::Duration{options_.deadline.count() / 4}, deadline_ - io::monotonic_now());
    Result<void> carried =
        probe_sites(route_, *socket_, table_.addresses, table_.plan.datagram_bytes_max, limit);
    if (!carried) return carried;
  }
  Result<void> ready = links_->ready({meet_host(),
                                      core::site_order(worker_options().sites),
                                      options_.verify,
                                      history.finished,
                                      history.digest,
                                      {}});
  if (!ready) return ready;
  if (is_one_host()) {
    table_.plan = one_host_plan(table_.plan, terms());
    own_site_.reset();
  } else {
    settle(links_->host_terms(), table_);
    if (own_site_) own_site_->serve(terms());
  }
  return {};
}

// Whether this rank shares memory with the whole group that was proposed for it. If join servers
// propose different groups, as they do when ranks bring sites, no group is used.
bool JobSession::meet_host() {
  if (!share_ || group() == nullptr || !links_->agree_on_groups()) return false;
  const base::Instant now = io::monotonic_now();
  const base::Duration patience = std::min((deadline_ - now) / 2, kMeetingMax);
  const io::MeetingTerms meeting =
      is_one_host() ? one_host_meeting(one_host_plan(table_.plan, terms()), terms())
                    : group_meeting(table_.plan, terms(), group()->ranks);
  return share_->meet(*group(), table_.rank, meeting, now + patience);
}

core::WorkerOptions JobSession::worker_options() const {
  core::WorkerOptions worker = plan::worker_options(table_.plan, table_.rank);
  worker.seed = base::mix64(static_cast<std::uint64_t>(io::monotonic_now().ns) + worker.rank);
  worker.wall_clock_offset = io::wall_clock_offset();
  return worker;
}

// Makes an endpoint that reaches every site: in memory, over the network, or through the leader of
// this rank's group.
void JobSession::set_up(Setup& setup) {
  setup.worker = worker_options();
  setup.site_names = table_.names;
  setup.paths = paths();
  setup.tell = links_->teller();
  const join::HostGroup* const own = group();
  if (is_one_host()) {
    setup.shares = one_driver(share_->take_summing_endpoint(table_.plan, table_.rank));
    // The loss of the switch is reported as the loss of site 0.
    const std::string meeting_place = table_.names.front();
    setup.site_names.clear();
    for (std::size_t site = 0; site < table_.plan.trees.size(); ++site) {
      setup.site_names.push_back(meeting_place + " (through rank " + std::to_string(site) + ")");
    }
  } else if (own == nullptr) {
    share_.reset();
    setup.shares = network_shares();
  } else {
    setup.shares = one_driver(share_->take_endpoint());
    for (std::string& name : setup.site_names) {
      name += " (through rank " + std::to_string(own->ranks.first) + ")";
    }
    if (leads(*own)) {
      share_->lead(leaves_of(table_.plan, own->ranks), table_.plan.small_slots,
                   network_endpoint(std::move(*socket_)));
    }
  }
  socket_.reset();
}

std::unique_ptr<io::UdpEndpoint> JobSession::network_endpoint(io::UdpSocket socket) {
  return std::make_unique<io::UdpEndpoint>(std::move(socket), table_.addresses);
}

// The first driver serves this rank's own site, if it brings one.
std::vector<DrivenSites> JobSession::network_shares() {
  std::vector<DrivenSites> shares;
  for (const core::SiteSet sites : plan::driver_shares(table_.plan, driver_count(), table_.own)) {
    const bool is_first = shares.empty();
    std::unique_ptr<io::UdpEndpoint> network =
        network_endpoint(std::move(is_first ? *socket_ : driver_sockets_[shares.size() - 1]));
    if (is_first && own_site_) {
      shares.push_back({sites, own_site_->take_endpoint(table_.plan, *table_.own, table_.rank,
                                                        std::move(network))});
    } else {
      shares.push_back({sites, std::move(network)});
    }
  }
  own_site_.reset();
  return shares;
}

Paths JobSession::paths() const {
  Paths paths;
  for (const join::HostGroup& each : terms().groups) paths.ranks_in_memory += each.ranks.count;
  if (is_one_host()) return paths;
  const join::HostGroup* const own = group();
  if (own == nullptr || leads(*own)) paths.interface = route_.text();
  // Each host counts once, even below a rack.
  const plan::Tree network = join::tree_of(terms(), true);
  paths.parties_on_network =
      static_cast<std::uint32_t>(network.aggregators.front().children.size());
  return paths;
}

}  // namespace infold::rank
