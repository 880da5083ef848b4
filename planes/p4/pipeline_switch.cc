// SPDX-License-Identifier: Apache-2.0
//
// Inserts jobs into the pipeline and removes them, and learns where stations and workers are.
#include "planes/p4/pipeline_switch.h"

#include <algorithm>
#include <array>
#include <bitset>
#include <utility>

#include <fmt/format.h>

#include "core/adder/adder.h"
#include "io/host/clock.h"
#include "io/host/log.h"
#include "join/job_plan.h"
#include "join/refusals.h"
#include "join/registry/job_registry.h"
#include "planes/p4/job_entries.h"
#include "site/neighbours.h"

namespace infold::p4 {
namespace {

constexpr base::Duration kAgain = base::seconds(1);
constexpr std::uint64_t kGroupBit = std::uint64_t{1} << 40;  // marks a MAC address as a group's
constexpr std::uint32_t kLastSlot = kJobsMax * kSlotsOfJob - 1;

// Says which option names the address that ranks cannot join at, and what to do.
std::string join_problem(bool has_option, const io::SocketAddress& address,
                         const base::Error& error) {
  return has_option
             ? fmt::format("--join {}: {}; name an address of this host whose TCP port is free",
                           address.text(), error.detail)
             : fmt::format(
                   "--listen {}: {}; ranks join there over TCP, unless --join names "
                   "another address",
                   address.text(), error.detail);
}

}  // namespace

base::Attempt<std::unique_ptr<PipelineSwitch>> PipelineSwitch::start(
    const PipelineSwitchOptions& options, Program program) {
  io::UdpOptions udp;
  udp.bind = options.listen;
  udp.offload = false;
  base::Result<io::UdpSocket> socket = io::UdpSocket::open(udp);
  if (!socket)
    return base::cannot("--listen " + options.listen.text() + ": " + socket.error().detail);
  PipelineSwitchOptions settled = options;
  settled.listen = socket->local_address();
  settled.slots = std::min(options.slots, kJobsMax * kSlotsOfJob);
  std::unique_ptr<PipelineSwitch> made(
      new PipelineSwitch(settled, std::move(program), std::move(*socket)));
  auto device = Device::connect(options.device);
  if (!device) return base::cannot(device.error());
  made->device_ = std::move(*device);
  if (const auto ready = made->prepare_device(); !ready) return base::cannot(ready.error());
  made->registrar_ = std::make_unique<join::JobRegistry>(made.get());
  const bool has_join_address = options.join_address.is_set();
  const io::SocketAddress& join_at = has_join_address ? options.join_address : settled.listen;
  auto server = join::JoinServer::start(join_at, *made->registrar_, options.joining);
  if (!server) return base::cannot(join_problem(has_join_address, join_at, server.error()));
  made->join_server_ = std::move(*server);
  return made;
}

PipelineSwitch::PipelineSwitch(const PipelineSwitchOptions& options, Program program,
                               io::UdpSocket socket)
    : options_(options), program_(std::move(program)), socket_(std::move(socket)) {}

PipelineSwitch::~PipelineSwitch() {
  join_server_.reset();
  registrar_.reset();  // its thread uses the device
  {
    const base::MutexLock lock(mutex_);
    for (auto& [number, job] : jobs_) tell_all(job, {core::AbortReason::stopped, 0, 0, {}, {}});
  }
  if (device_) device_->disconnect();  // its thread uses all of this
}

// Deletes the groups of an earlier controller. Loading a program clears tables and registers. BMv2
// keeps groups, but its P4Runtime server forgets them, so they must be deleted before the program
// is loaded.
base::Attempt<void> PipelineSwitch::delete_groups() {
  const auto groups = device_->read({Program::all_groups()});
  if (!groups) return {};  // there is no program yet
  std::vector<v1::Update> updates;
  for (const v1::Entity& group : *groups) {
    updates.emplace_back().set_type(v1::Update::DELETE);
    *updates.back().mutable_entity() = group;
  }
  return updates.empty() ? base::Attempt<void>() : device_->remove(updates);
}

base::Attempt<void> PipelineSwitch::prepare_device() {
  if (const auto deleted = delete_groups(); !deleted) return deleted;
  if (const auto loaded = device_->load(program_.config()); !loaded) return loaded;
  device_->listen(*this);
  if (const auto works = try_registers(); !works) return works;
  std::vector<v1::Replica> all;
  for (const std::uint32_t port : options_.ports) {
    v1::Replica& replica = all.emplace_back();
    replica.set_egress_port(port);
    replica.set_instance(1);
  }
  return device_->write({program_.update(v1::Update::INSERT, kFloodGroup, all),
                         program_.ask_for(DigestKind::station),
                         program_.ask_for(DigestKind::worker),
                         program_.update(v1::Update::INSERT, Table::addresses,
                                         {ipv4_of(options_.listen), options_.listen.port()})});
}

// Without registers, each job would be refused. It is better to say so before ranks come.
base::Attempt<void> PipelineSwitch::try_registers() {
  const auto fails = [&](const std::string& why) {
    return base::cannot(fmt::format("{}; {}", why, limits_.registers_hint));
  };
  const auto cleared = registers_->clear(*device_, {kLastSlot, 1});
  if (!cleared) return fails(cleared.error());
  const auto view = registers_->look(*device_, kLastSlot * 2);
  if (!view) return fails(view.error());
  if (view->open == 1 && view->seen == 0) return {};
  return fails(fmt::format("the P4 device at {} does not keep what is written to its registers",
                           device_->address()));
}

std::vector<join::SiteAddress> PipelineSwitch::sites() const {
  return {{.address = options_.listen.text(), .record = limits_.record}};
}

std::uint32_t PipelineSwitch::datagram_bytes_max() const { return options_.datagram_bytes_max; }

join::Answer<PipelineSwitch::Job*> PipelineSwitch::make_job(const join::JobTerms& terms) {
  using namespace join::sentences;
  Job job{.options = join::aggregator_options(terms)};
  if (const char* const why = core::adder_refusal(job.options)) {
    return join::refused(kNotForAdders, why);
  }
  if (job.options.world < kRanksMin) return join::refused(kFewRanksForPipeline, kRanksMin);
  if (job.options.slot_count > kSlotsOfJob) {
    return join::refused(kSlotsOfPipeline, job.options.slot_count, kSlotsOfJob);
  }
  for (const io::SocketAddress& source : site::worker_sources(terms, job.options)) {
    const std::uint16_t rank = job.options.workers[job.workers.size()].first;
    const auto refuse = [rank](join::Refusal why) {
      return tl::unexpected(join::pointing_at(rank, std::move(why)));
    };
    if (!source.is_set()) return refuse(join::refusal(kRankWithoutAddress, rank));
    if (source.is_ipv6()) return refuse(join::refusal(kRankWithIpv6, rank, source.host_text()));
    if (source.is_same_host(options_.listen)) {
      return refuse(join::refusal(kRankAtController, rank));
    }
    if (const auto port = port_beyond_sums(source)) {
      return refuse(join::refusal(kRankBehindOtherPipe, rank, *port, limits_.port_max));
    }
    job.workers.push_back({source, std::nullopt});
  }
  // Entries of a job that was removed may still exist.
  const bool is_left = std::any_of(forgotten_.begin(), forgotten_.end(), [&](const Job& other) {
    return other.options.job == terms.job;
  });
  if (jobs_.contains(terms.job) || is_left) {
    return join::refused(kPipelineHasJob, terms.job);
  }
  const std::optional<std::uint16_t> index = free_index();
  if (!index) return join::refused(kJobsOfPipeline, kJobsMax);
  job.index = *index;
  return &jobs_.emplace(terms.job, std::move(job)).first->second;
}

std::optional<std::uint16_t> PipelineSwitch::free_index() const {
  std::bitset<kJobsMax> used;
  for (const auto& [number, job] : jobs_) used.set(job.index);
  for (const Job& job : forgotten_) used.set(job.index);
  if (used.all()) return std::nullopt;
  std::uint16_t index = 0;
  while (used.test(index)) ++index;
  return index;
}

std::optional<std::uint32_t> PipelineSwitch::port_beyond_sums(const io::SocketAddress& host) const {
  if (limits_.pipes == 1) return std::nullopt;
  const std::optional<std::uint64_t> mac = options_.find_mac(host);
  const auto found = mac ? stations_.find(*mac) : stations_.end();
  if (found == stations_.end() || limits_.is_in_first_pipe(found->second)) return std::nullopt;
  return found->second;
}

join::Answer<void> PipelineSwitch::start_job(const join::JobTerms& terms) {
  SlotRange slots;
  {
    const base::MutexLock lock(mutex_);
    const join::Answer<Job*> made = make_job(terms);
    if (!made) return tl::unexpected(made.error());
    slots = {(*made)->first_slot(), kSlotsOfJob};  // also unused ones
  }
  const auto cleared = registers_->clear(*device_, slots);
  const base::MutexLock lock(mutex_);
  Job& job = jobs_.at(terms.job);  // is not forgotten before it has started
  const base::Attempt<void> done = cleared ? insert_entries(job) : base::cannot(cleared.error());
  if (done) {
    job.is_in_tables = true;
    return {};
  }
  forget(terms.job);
  return join::refused(join::sentences::kDeviceFails, done.error());
}

std::optional<core::Abort> PipelineSwitch::end_job(std::uint16_t number, const core::Abort& abort) {
  const base::MutexLock lock(mutex_);
  const auto found = jobs_.find(number);
  if (found == jobs_.end()) return std::nullopt;
  tell_all(found->second, abort);
  return found->second.end;
}

void PipelineSwitch::forget_job(std::uint16_t number) {
  const base::MutexLock turn(hearing_);
  const base::MutexLock lock(mutex_);
  forget(number);
}

// If a job's entries may still exist, its index and its slots stay in use.
void PipelineSwitch::forget(std::uint16_t number) {
  auto job = jobs_.extract(number);
  if (job.empty() || delete_entries(job.mapped())) return;
  forgotten_.push_back(std::move(job.mapped()));
}

// The entries that cause packets to be summed are inserted last and deleted first, so that no
// packet meets a part of a job. A device may take the updates of one message in any order.
base::Attempt<void> PipelineSwitch::insert_entries(const Job& job) {
  if (const auto done = device_->write(entries_beside(job, v1::Update::INSERT)); !done) return done;
  return device_->write(job_entries(program_, job, v1::Update::INSERT));
}

bool PipelineSwitch::delete_entries(const Job& job) {
  return device_->remove(job_entries(program_, job, v1::Update::DELETE)).has_value() &&
         device_->remove(entries_beside(job, v1::Update::DELETE)).has_value();
}

std::vector<v1::Update> PipelineSwitch::entries_beside(const Job& job,
                                                       v1::Update::Type type) const {
  std::vector<v1::Update> updates = {program_.update(type, kFirstJobGroup + job.index, {})};
  if (type != v1::Update::DELETE) return updates;
  const auto workers = static_cast<std::uint8_t>(job.workers.size());
  for (std::uint8_t worker = 0; worker < workers; ++worker) {
    for (v1::Update& each : worker_entries(program_, job, worker, type)) {
      updates.push_back(std::move(each));
    }
  }
  return updates;
}

void PipelineSwitch::hear_digests(const v1::DigestList& list) {
  {
    const base::MutexLock lock(mutex_);
    for (const StationNote& note : program_.stations(list)) learn(note);
    for (const WorkerNote& note : program_.workers(list)) learn(note);
  }
  device_->acknowledge(list);
}

// A station whose packets come from another port has moved there. If the table is full, packets to
// the station go to all ports. After an error, the station's next note causes another attempt.
void PipelineSwitch::learn(const StationNote& note) {
  if ((note.mac & kGroupBit) != 0 || !limits_.leads_to_stations(note.port)) return;
  const auto entries = [&](v1::Update::Type type, std::uint32_t port) {
    return std::vector<v1::Update>{program_.update(type, Table::stations, {note.mac}, {port}),
                                   program_.update(type, Table::sources, {note.mac, port})};
  };
  if (const auto found = stations_.find(note.mac); found != stations_.end()) {
    if (found->second == note.port) return;
    if (!device_->remove(entries(v1::Update::DELETE, found->second))) return;
    stations_.erase(found);
  }
  if (stations_.size() == kStationsMax) return;
  if (write(entries(v1::Update::INSERT, note.port))) {
    stations_[note.mac] = note.port;
  } else {
    static_cast<void>(device_->remove(entries(v1::Update::DELETE, note.port)));
  }
}

// A worker whose packets come from another place has moved there. The entries of the old place are
// deleted first. After an error, the worker's next note causes another attempt.
void PipelineSwitch::learn(const WorkerNote& note) {
  const auto found = jobs_.find(note.job);
  if (found == jobs_.end() || !found->second.is_in_tables) return;
  if (note.worker >= found->second.workers.size()) return;
  if (note.port > limits_.port_max) return;
  Job& job = found->second;
  PipelineWorker& worker = job.workers[note.worker];
  const Place place = {note.mac, note.udp_port, note.port};
  if (worker.is_in_tables && worker.place == place) return;
  if (!delete_place(job, note.worker)) return;
  worker.place = place;
  std::vector<v1::Replica> receivers;
  for (std::size_t i = 0; i < job.workers.size(); ++i) {
    if (i != note.worker && !job.workers[i].is_in_tables) continue;
    v1::Replica& replica = receivers.emplace_back();
    replica.set_egress_port(job.workers[i].place->port);
    replica.set_instance(static_cast<std::uint32_t>(i));
  }
  std::vector<v1::Update> updates = worker_entries(program_, job, note.worker, v1::Update::INSERT);
  updates.push_back(program_.update(v1::Update::MODIFY, kFirstJobGroup + job.index, receivers));
  worker.is_in_tables = write(updates);
  if (!worker.is_in_tables) static_cast<void>(delete_place(job, note.worker));
}

bool PipelineSwitch::delete_place(Job& job, std::uint8_t worker) {
  PipelineWorker& known = job.workers[worker];
  if (!known.place) return true;
  if (!device_->remove(worker_entries(program_, job, worker, v1::Update::DELETE))) return false;
  known.place.reset();
  known.is_in_tables = false;
  return true;
}

bool PipelineSwitch::write(const std::vector<v1::Update>& updates) {
  const base::Attempt<void> done = device_->write(updates);
  if (!done) io::log(status::LogLevel::warn, "p4_device", {{"error", done.error()}});
  return done.has_value();
}

void PipelineSwitch::write_again() {
  const base::Instant now = io::monotonic_now();
  if (now < again_at_ || !device_->why_lost().empty()) return;
  again_at_ = now + kAgain;
  std::erase_if(forgotten_,
                [this](const Job& job) REQUIRES(mutex_) { return delete_entries(job); });
  for (auto& [number, job] : jobs_) {
    if (job.end) mark_ended(job);
  }
}

status::SwitchMetrics PipelineSwitch::metrics() {
  status::SwitchMetrics metrics;
  metrics.plane = "p4";
  metrics.counts_traffic = false;
  metrics.jobs = registrar_->status();
  metrics.slots = options_.slots;
  for (const status::JobMetrics& job : metrics.jobs) metrics.slots_used += job.slots;
  const auto counters = device_->read({program_.all_verdicts()});
  const base::MutexLock lock(sending_);
  if (counters) counted_ = {};  // otherwise the last counts stay
  for (const v1::Entity& entity : counters.value_or(std::vector<v1::Entity>())) {
    const std::int64_t index = entity.counter_entry().index().index();
    const std::int64_t packets = entity.counter_entry().data().packet_count();
    if (index < 0 || index >= static_cast<std::int64_t>(core::VerdictCounters{}.size())) continue;
    counted_[static_cast<std::size_t>(index)] =
        static_cast<std::uint64_t>(std::max<std::int64_t>(packets, 0));
  }
  site::PacketCounts packets = counted_;
  for (std::size_t i = 0; i < heard_.size(); ++i) packets[i] += heard_[i];
  metrics.packets = site::named_counts(packets);
  return metrics;
}

}  // namespace infold::p4
