// SPDX-License-Identifier: Apache-2.0
//
// A switch is a list of shards, each with a thread of its own. A job has an aggregator at every
// shard that it uses.
#include "switch/switch_server.h"

#include <algorithm>
#include <new>
#include <utility>

#include "join/job_plan.h"
#include "join/refusals.h"
#include "join/registry/job_registry.h"
#include "switch/uplink.h"

namespace infold::switches {

namespace {

// If the port is picked, try again this often, because a port that is free over UDP may be taken
// over TCP.
constexpr int kPortTries = 16;

// Adds a shard's counts to the sums for each job, because a job has counts at several shards.
void add_jobs(const std::vector<site::JobPackets>& jobs, std::vector<site::JobPackets>& sum) {
  for (const site::JobPackets& each : jobs) {
    const auto same = [&](const site::JobPackets& other) { return other.job == each.job; };
    const auto place = std::find_if(sum.begin(), sum.end(), same);
    if (place == sum.end()) {
      sum.push_back(each);
      continue;
    }
    place->memory_bytes += each.memory_bytes;
    for (std::size_t i = 0; i < each.verdicts.size(); ++i) place->verdicts[i] += each.verdicts[i];
  }
}

}  // namespace

base::Result<std::unique_ptr<SwitchServer>> SwitchServer::start(const SwitchOptions& options) {
  const bool picks_port = options.listen.port() == 0 && !options.join_address.is_set();
  for (int tries = picks_port ? kPortTries : 1;; --tries) {
    std::unique_ptr<SwitchServer> server(new SwitchServer(options));
    if (auto opened = server->open_sites(); !opened) return tl::unexpected(opened.error());
    const base::Result<void> listens = server->listen();
    if (listens) return server;
    if (tries == 1) return tl::unexpected(listens.error());
  }
}

base::Result<void> SwitchServer::open_sites() {
  io::UdpOptions udp;
  udp.bind = options_.listen;
  udp.datagram_bytes_max = options_.datagram_bytes_max;
  udp.receive_buffer_bytes = 16 << 20;
  udp.send_buffer_bytes = 16 << 20;
  udp.offload = options_.offload;
  for (unsigned shard = 0; shard < options_.threads; ++shard) {
    base::Result<io::UdpSocket> socket = io::UdpSocket::open(udp);
    if (!socket) return tl::unexpected(socket.error());
    shards_.push_back(std::make_unique<site::SwitchShard>(std::move(*socket)));
    const std::uint16_t port = shards_.back()->address().port();
    udp.bind.set_port(options_.listen.port() == 0 ? std::uint16_t{0}
                                                  : static_cast<std::uint16_t>(port + 1));
  }
  return {};
}

base::Result<void> SwitchServer::listen() {
  io::SocketAddress address = options_.join_address;
  if (!address.is_set()) {
    address = options_.listen;
    address.set_port(shards_.front()->address().port());
  }
  if (base::Result<void> made = make_registrar(address); !made) return made;
  auto server = join::JoinServer::start(address, *registrar_, options_.joining);
  if (!server) return tl::unexpected(server.error());
  join_server_ = std::move(*server);
  return {};
}

base::Result<void> SwitchServer::make_registrar(const io::SocketAddress& join_address) {
  if (!options_.parent.is_set()) {
    registrar_ = std::make_unique<join::JobRegistry>(this);
    return {};
  }
  auto uplink = UdpUplink::find(options_.parent, options_.listen, join_address);
  if (!uplink) return tl::unexpected(uplink.error());
  uplink_ = std::move(*uplink);
  registrar_ = std::make_unique<join::RackRelay>(*this, *uplink_,
                                                 uplink_->relay_options(options_.parent_keys));
  return {};
}

SwitchServer::SwitchServer(const SwitchOptions& options) : options_(options) {}

// Ranks learn of the end over their join connections and from the shards before anything goes away.
SwitchServer::~SwitchServer() {
  join_server_.reset();
  registrar_.reset();  // first, because its thread speaks to the shards
  shards_.clear();
}

std::vector<join::SiteAddress> SwitchServer::sites() const {
  std::vector<join::SiteAddress> sites;
  core::SiteRecord record;
  record.elements_max = options_.elements_max;
  for (const std::unique_ptr<site::SwitchShard>& shard : shards_) {
    const io::SocketAddress address = shard->address();
    sites.push_back(
        {address.is_any() ? ":" + std::to_string(address.port()) : address.text_elsewhere(), 0,
         false, record});
  }
  return sites;
}

SwitchServer::SlotMemory SwitchServer::memory_max(std::uint32_t datagram_bytes) const {
  plan::Plan one;
  one.trees = {plan::flat_tree(one.world)};
  one.datagram_bytes_max = datagram_bytes;
  const core::Aggregator aggregator(plan::aggregator_options(one, 0, 0));
  const std::size_t slots = options_.slots * shards_.size();
  return {aggregator.memory_bytes() / one.slots() * slots,
          aggregator.bins_bytes() / one.slots() * slots};
}

std::vector<site::SiteStatistics> SwitchServer::statistics() {
  std::vector<site::SiteStatistics> all;
  for (const std::unique_ptr<site::SwitchShard>& shard : shards_)
    all.push_back(shard->statistics());
  return all;
}

status::SwitchMetrics SwitchServer::metrics() {
  status::SwitchMetrics metrics;
  metrics.jobs = registrar_->status();
  metrics.slots = options_.slots;
  for (const status::JobMetrics& job : metrics.jobs) metrics.slots_used += job.slots;
  status::SocketWork& work = metrics.sockets.emplace();
  site::PacketCounts packets{};
  std::vector<site::JobPackets> jobs;
  for (site::SiteStatistics& shard : statistics()) {
    metrics.received.packets += shard.socket.datagrams_received + shard.socket.misfits;
    metrics.received.bytes += shard.socket.bytes_received;
    metrics.sent.packets += shard.socket.datagrams_sent;
    metrics.sent.bytes += shard.socket.bytes_sent;
    work.calls_received += shard.socket.calls_received;
    work.calls_sent += shard.socket.calls_sent;
    work.unsent += shard.socket.blocked + shard.socket.refused + shard.socket.too_long;
    for (std::size_t i = 0; i < packets.size(); ++i) packets[i] += shard.packets[i];
    add_jobs(shard.jobs, jobs);
  }
  metrics.packets = site::named_counts_in_user_space(packets);
  for (const site::JobPackets& job : jobs) {
    metrics.memory_bytes += job.memory_bytes;
    site::set_job_packets(job.job, job.verdicts, metrics.jobs);
  }
  return metrics;
}

join::Answer<void> SwitchServer::start_job(const join::JobTerms& terms) {
  const core::AggregatorOptions aggregator = join::aggregator_options(terms);
  const site::Neighbours workers = {{}, site::worker_sources(terms, aggregator)};
  if (!terms.below) {
    return add_to_shards(aggregator, terms.small_slots, std::vector(shards_.size(), workers));
  }
  const join::Answer<std::vector<io::SocketAddress>> parents = sites_of_parent(*terms.below);
  if (!parents) return tl::unexpected(parents.error());
  std::vector<site::Neighbours> below(std::min(parents->size(), shards_.size()), workers);
  for (std::size_t i = 0; i < below.size(); ++i) below[i].parent = (*parents)[i];
  return add_to_shards(aggregator, terms.small_slots, below);
}

// Adds the job to the first shards.size() shards, each with its own neighbours. If a number is
// taken, the first shard refuses it before any shard has changed. Memory may run out at any shard,
// so the job is then removed from the shards that have it.
join::Answer<void> SwitchServer::add_to_shards(const core::AggregatorOptions& aggregator,
                                               std::uint16_t small_slots,
                                               const std::vector<site::Neighbours>& shards) {
  std::size_t added = 0;
  try {
    for (; added < shards.size(); ++added) {
      // A registry should never give a number twice. If one does, the living job keeps it.
      if (!shards_[added]->add_job(aggregator, small_slots, shards[added])) {
        return join::refused(join::sentences::kNumberInUse, aggregator.job);
      }
    }
  } catch (const std::bad_alloc&) {
    while (added > 0) shards_[--added]->remove_job(aggregator.job);
    return join::refused(join::sentences::kNoMemory);
  }
  return {};
}

// Two calls that differ meet at one shard, and the others learn of it from here. Otherwise their
// workers would hear another reason from them.
std::optional<core::Abort> SwitchServer::end_job(std::uint16_t job, const core::Abort& abort) {
  core::Abort first = abort;
  for (const std::unique_ptr<site::SwitchShard>& shard : shards_) {
    const std::optional<core::Abort> kept = shard->end_of(job);
    if (kept && join::is_cause(*kept)) first = *kept;
    if (first.reason == core::AbortReason::mismatch) break;
  }
  for (const std::unique_ptr<site::SwitchShard>& shard : shards_) shard->end_job(job, first);
  return first;
}

void SwitchServer::forget_job(std::uint16_t job) {
  for (const std::unique_ptr<site::SwitchShard>& shard : shards_) shard->remove_job(job);
}

}  // namespace infold::switches
