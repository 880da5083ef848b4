// SPDX-License-Identifier: Apache-2.0
//
// A switch is a list of shards; each has its own life, and a job has an aggregator at each.
#include "switch/switch_server.h"

#include <algorithm>
#include <new>
#include <utility>

#include "control/job_plan.h"
#include "control/registry/job_registry.h"
#include "switch/uplink.h"

namespace infold::switches {

namespace {

// A port that is free over UDP may be taken over TCP.
constexpr int kPortTries = 16;

// A job is at every shard.
void add_jobs(const std::vector<site::JobPackets>& jobs, site::SwitchStatus& status) {
  for (const site::JobPackets& each : jobs) {
    status.memory_bytes += each.memory_bytes;
    const auto same = [&](const site::JobPackets& other) { return other.job == each.job; };
    const auto place = std::find_if(status.by_job.begin(), status.by_job.end(), same);
    if (place == status.by_job.end()) {
      status.by_job.push_back(each);
      continue;
    }
    place->memory_bytes += each.memory_bytes;
    for (std::size_t i = 0; i < each.verdicts.size(); ++i) place->verdicts[i] += each.verdicts[i];
  }
}

// Registries do not give a number twice; a living job stays, whatever they do.
tl::unexpected<control::Refusal> refuse_occupied(std::uint16_t job) {
  return tl::unexpected(control::Refusal{
      control::RefusalReason::in_use,
      "the number " + std::to_string(job) + " is another job's at the switch", -1});
}

}  // namespace

base::Result<std::unique_ptr<SwitchServer>> SwitchServer::start(const SwitchOptions& options) {
  const bool picks_port = options.listen.port() == 0 && !options.control.is_set();
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
  io::SocketAddress address = options_.control;
  if (!address.is_set()) {
    address = options_.listen;
    address.set_port(shards_.front()->address().port());
  }
  if (base::Result<void> made = make_registrar(address); !made) return made;
  auto control = control::ControlServer::start(address, *registrar_);
  if (!control) return tl::unexpected(control.error());
  control_ = std::move(*control);
  return {};
}

base::Result<void> SwitchServer::make_registrar(const io::SocketAddress& control) {
  if (!options_.parent.is_set()) {
    registrar_ = std::make_unique<control::JobRegistry>(this);
    return {};
  }
  auto uplink = UdpUplink::find(options_.parent, options_.listen, control);
  if (!uplink) return tl::unexpected(uplink.error());
  uplink_ = std::move(*uplink);
  registrar_ = std::make_unique<control::RackRelay>(*this, *uplink_, uplink_->relay_options());
  return {};
}

SwitchServer::SwitchServer(const SwitchOptions& options) : options_(options) {}

// Jobs are told over both planes before anything goes away.
SwitchServer::~SwitchServer() {
  control_.reset();
  registrar_.reset();  // its thread speaks to the shards
  shards_.clear();
}

std::vector<control::SiteAddress> SwitchServer::sites() const {
  std::vector<control::SiteAddress> sites;
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

site::SwitchStatus SwitchServer::status() {
  site::SwitchStatus status;
  status.jobs = registrar_->status();
  status.slots = options_.slots;
  for (const control::JobStatus& job : status.jobs) status.slots_used += job.slots;
  site::SocketWork& work = status.sockets.emplace();
  for (site::SiteStatistics& shard : statistics()) {
    status.received.packets += shard.socket.datagrams_received + shard.socket.misfits;
    status.received.bytes += shard.socket.bytes_received;
    status.sent.packets += shard.socket.datagrams_sent;
    status.sent.bytes += shard.socket.bytes_sent;
    work.calls_received += shard.socket.calls_received;
    work.calls_sent += shard.socket.calls_sent;
    work.unsent += shard.socket.blocked + shard.socket.refused + shard.socket.too_long;
    for (std::size_t i = 0; i < site::kPacketCounts; ++i) status.packets[i] += shard.packets[i];
    add_jobs(shard.jobs, status);
  }
  return status;
}

control::Answer<void> SwitchServer::start_job(const control::JobTerms& terms) {
  const core::AggregatorOptions aggregator = control::aggregator_options(terms);
  const site::Neighbours workers = {{}, site::worker_sources(terms, aggregator)};
  if (!terms.below) {
    return add_to_shards(aggregator, terms.small_slots, std::vector(shards_.size(), workers));
  }
  const control::Answer<std::vector<io::SocketAddress>> parents = sites_of_parent(*terms.below);
  if (!parents) return tl::unexpected(parents.error());
  std::vector<site::Neighbours> below(std::min(parents->size(), shards_.size()), workers);
  for (std::size_t i = 0; i < below.size(); ++i) below[i].parent = (*parents)[i];
  return add_to_shards(aggregator, terms.small_slots, below);
}

// To the first ones, each with its own neighbours. All shards have the same jobs, so that the first
// one refuses a number before any other has changed; memory may be missing at any.
control::Answer<void> SwitchServer::add_to_shards(const core::AggregatorOptions& aggregator,
                                                  std::uint16_t small_slots,
                                                  const std::vector<site::Neighbours>& shards) {
  std::size_t added = 0;
  try {
    for (; added < shards.size(); ++added) {
      if (!shards_[added]->add_job(aggregator, small_slots, shards[added])) {
        return refuse_occupied(aggregator.job);
      }
    }
  } catch (const std::bad_alloc&) {
    while (added > 0) shards_[--added]->remove_job(aggregator.job);
    return tl::unexpected(control::Refusal{
        control::RefusalReason::full,
        "the switch has no memory for the job's slots; start it with fewer (infold switch --slots)",
        -1});
  }
  return {};
}

void SwitchServer::end_job(std::uint16_t job, const core::Abort& abort) {
  for (const std::unique_ptr<site::SwitchShard>& shard : shards_) shard->end_job(job, abort);
}

void SwitchServer::forget_job(std::uint16_t job) {
  for (const std::unique_ptr<site::SwitchShard>& shard : shards_) shard->remove_job(job);
}

}  // namespace infold::switches
