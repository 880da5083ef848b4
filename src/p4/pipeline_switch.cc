// SPDX-License-Identifier: Apache-2.0
//
// Brings jobs into the pipeline and out of it, and learns where stations and workers are.
#include "p4/pipeline_switch.h"

#include <algorithm>
#include <arpa/inet.h>
#include <array>
#include <bitset>
#include <utility>

#include <fmt/format.h>

#include "control/job_plan.h"
#include "control/registry/job_registry.h"
#include "core/adder/adder.h"
#include "io/host/clock.h"
#include "io/host/log.h"
#include "site/neighbours.h"

namespace infold::p4 {
namespace {

constexpr base::Duration kAgain = base::seconds(1);
constexpr std::uint64_t kGroupBit = std::uint64_t{1} << 40;  // of a MAC address

std::uint32_t ipv4_of(const io::SocketAddress& address) {
  // The alignment is that of the address family's own structure.
  return ntohl(reinterpret_cast<const sockaddr_in*>(address.data())->sin_addr.s_addr);
}

// Where `count` slots in a row are free. None if they are nowhere.
std::optional<std::uint32_t> find_room(std::map<std::uint32_t, std::uint32_t> used,
                                       std::uint32_t count, std::uint32_t total) {
  std::uint32_t first = 0;
  for (const auto& [begin, slots] : used) {
    if (begin - first >= count) return first;
    first = begin + slots;
  }
  if (total - first >= count) return first;
  return std::nullopt;
}

}  // namespace

base::Attempt<std::unique_ptr<PipelineSwitch>> PipelineSwitch::start(
    const PipelineSwitchOptions& options, Program program) {
  io::UdpOptions udp;
  udp.bind = options.listen;
  udp.offload = false;
  base::Result<io::UdpSocket> socket = io::UdpSocket::open(udp);
  if (!socket) return base::cannot(options.listen.text() + ": " + socket.error().detail);
  PipelineSwitchOptions settled = options;
  settled.listen = socket->local_address();
  std::unique_ptr<PipelineSwitch> made(
      new PipelineSwitch(settled, std::move(program), std::move(*socket)));
  auto device = Device::connect(options.device);
  if (!device) return base::cannot(device.error());
  made->device_ = std::move(*device);
  if (const auto ready = made->prepare_device(); !ready) return base::cannot(ready.error());
  made->registrar_ = std::make_unique<control::JobRegistry>(made.get());
  const io::SocketAddress& listen = options.control.is_set() ? options.control : settled.listen;
  auto control = control::ControlServer::start(listen, *made->registrar_);
  if (!control) return base::cannot(listen.text() + ": " + control.error().detail);
  made->control_ = std::move(*control);
  return made;
}

PipelineSwitch::PipelineSwitch(const PipelineSwitchOptions& options, Program program,
                               io::UdpSocket socket)
    : options_(options), program_(std::move(program)), socket_(std::move(socket)) {}

PipelineSwitch::~PipelineSwitch() {
  control_.reset();
  registrar_.reset();  // its thread uses the device
  {
    const std::lock_guard lock(mutex_);
    for (auto& [number, job] : jobs_) tell_all(job, {core::AbortReason::stopped, 0, 0, {}, {}});
  }
  if (device_) device_->disconnect();  // its thread uses all of this
}

// Those of an earlier controller. A program clears tables and registers when it is loaded. BMv2
// keeps groups, and its P4Runtime server forgets them, so they are deleted before.
base::Attempt<void> PipelineSwitch::delete_groups() {
  const auto groups = device_->read(Program::all_groups());
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

std::vector<control::SiteAddress> PipelineSwitch::sites() const {
  core::SiteRecord record = core::adder_record(kElementsMax);
  record.verifies_checksums = true;  // the program does, over the elements that it parses
  return {{.address = options_.listen.text(), .record = record}};
}

std::uint32_t PipelineSwitch::datagram_bytes_max() const { return options_.datagram_bytes_max; }

control::Answer<PipelineSwitch::Job*> PipelineSwitch::make_job(const control::JobTerms& terms) {
  using control::RefusalReason;
  Job job{.options = control::aggregator_options(terms)};
  if (const char* const why = core::adder_refusal(job.options)) {
    return tl::unexpected(control::Refusal{RefusalReason::invalid, why, -1});
  }
  const auto refuse = [](RefusalReason reason, std::string why, int rank = -1) {
    return tl::unexpected(control::Refusal{reason, std::move(why), rank});
  };
  for (const io::SocketAddress& source : site::worker_sources(terms, job.options)) {
    const std::uint16_t rank = job.options.workers[job.workers.size()].first;
    if (!source.is_set() || source.is_ipv6()) {
      return refuse(
          RefusalReason::invalid,
          fmt::format("rank {} has {}; the P4 pipeline sums packets of IPv4 addresses alone", rank,
                      source.is_set() ? "the address " + source.host_text() : "no address"),
          rank);
    }
    if (source.is_same_host(options_.listen)) {
      return refuse(RefusalReason::invalid,
                    fmt::format("rank {} is on the host of the P4 pipeline's controller; its "
                                "packets do not pass the device; run the rank on another host",
                                rank),
                    rank);
    }
    job.workers.push_back({source, std::nullopt});
  }
  if (jobs_.contains(terms.job)) {
    return refuse(RefusalReason::in_use,
                  fmt::format("the P4 pipeline has a job {} already", terms.job));
  }
  std::bitset<kJobsMax> used;
  std::map<std::uint32_t, std::uint32_t> slots;
  const auto note_use = [&](const Job& other) {
    used.set(other.index);
    slots[other.first_slot] = other.options.slot_count;
  };
  for (const auto& [number, other] : jobs_) note_use(other);
  for (const Job& other : forgotten_) note_use(other);
  if (used.all()) {
    return refuse(RefusalReason::full,
                  fmt::format("the P4 pipeline has {} jobs, as many as it can; wait for the end of "
                              "one",
                              kJobsMax));
  }
  const auto room = find_room(std::move(slots), job.options.slot_count, options_.slots);
  if (!room) {
    return refuse(RefusalReason::full,
                  fmt::format("the P4 pipeline has no {} slots in a row free; wait for the end of "
                              "another job, or ask for fewer",
                              job.options.slot_count));
  }
  while (used.test(job.index)) ++job.index;
  job.first_slot = *room;
  return &jobs_.emplace(terms.job, std::move(job)).first->second;
}

control::Answer<void> PipelineSwitch::start_job(const control::JobTerms& terms) {
  std::vector<RegisterTask> tasks;
  {
    const std::lock_guard lock(mutex_);
    const control::Answer<Job*> made = make_job(terms);
    if (!made) return tl::unexpected(made.error());
    const std::uint32_t first = (*made)->first_slot * 2;
    for (std::uint32_t copy = first; copy < first + (*made)->options.slot_count * 2U; ++copy) {
      tasks.push_back(clearing_task(copy));
    }
  }
  auto cleared = registers_.run(*device_, tasks);
  // The answer to one more packet shows that no repeat of the others is on its way.
  if (cleared) cleared = registers_.run(*device_, {{.copy = tasks.front().copy}});
  const std::lock_guard lock(mutex_);
  Job& job = jobs_.at(terms.job);  // which nobody forgets before it has started
  const base::Attempt<void> done = cleared ? insert_entries(job) : base::cannot(cleared.error());
  if (done) {
    job.is_in_tables = true;
    return {};
  }
  forget(terms.job);
  return tl::unexpected(control::Refusal{control::RefusalReason::full, done.error(), -1});
}

void PipelineSwitch::end_job(std::uint16_t number, const core::Abort& abort) {
  const std::lock_guard lock(mutex_);
  const auto found = jobs_.find(number);
  if (found != jobs_.end()) tell_all(found->second, abort);
}

void PipelineSwitch::forget_job(std::uint16_t number) {
  const std::lock_guard turn(hearing_);
  const std::lock_guard lock(mutex_);
  forget(number);
}

// Index and slots of a job whose entries may be there stay in use.
void PipelineSwitch::forget(std::uint16_t number) {
  auto job = jobs_.extract(number);
  if (job.empty() || delete_entries(job.mapped())) return;
  forgotten_.push_back(std::move(job.mapped()));
}

// The job's own entry comes last and goes first, so that no packet meets half a job. A device takes
// the updates of one message in any order.
base::Attempt<void> PipelineSwitch::insert_entries(const Job& job) {
  if (const auto done = device_->write(entries_beside(job, v1::Update::INSERT)); !done) return done;
  return device_->write({job_entry(job, v1::Update::INSERT)});
}

bool PipelineSwitch::delete_entries(const Job& job) {
  return device_->remove({job_entry(job, v1::Update::DELETE)}).has_value() &&
         device_->remove(entries_beside(job, v1::Update::DELETE)).has_value();
}

std::vector<v1::Update> PipelineSwitch::entries_beside(const Job& job,
                                                       v1::Update::Type type) const {
  std::vector<v1::Update> updates;
  updates.push_back(program_.update(type, kFirstJobGroup + job.index, {}));
  for (std::uint8_t worker = 0; worker < job.workers.size(); ++worker) {
    updates.push_back(sender_entry(job, worker, type));
    if (type == v1::Update::DELETE) {
      updates.push_back(program_.update(type, Table::workers, {job.index, worker}));
    }
  }
  return updates;
}

v1::Update PipelineSwitch::job_entry(const Job& job, v1::Update::Type type) const {
  const core::AggregatorOptions& options = job.options;
  const std::uint32_t elements = std::min(
      {options.elements_max, kElementsMax, options.datagram_bytes_max - INFOLD_HEADER_BYTES});
  return program_.update(type, Table::jobs, {options.job},
                         {job.index, options.epoch, job.first_slot, options.slot_count, elements,
                          job.all_bits(), kFirstJobGroup + job.index, job.has_ended ? 1U : 0U});
}

v1::Update PipelineSwitch::sender_entry(const Job& job, std::uint8_t worker,
                                        v1::Update::Type type) const {
  const core::RankRange ranks = job.options.workers[worker];
  const Place place = job.workers[worker].place.value_or(Place{});
  return program_.update(type, Table::senders, {job.index, worker},
                         {job.bit_of(worker), ipv4_of(job.workers[worker].source),
                          core::rank_digest(ranks.first), place.mac, place.udp_port, place.port});
}

void PipelineSwitch::hear_digests(const v1::DigestList& list) {
  {
    const std::lock_guard lock(mutex_);
    for (const StationNote& note : program_.stations(list)) learn(note);
    for (const WorkerNote& note : program_.workers(list)) learn(note);
  }
  device_->acknowledge(list);
}

// A station that speaks at another port has moved there. What does not fit into the table is sent
// to all ports. After an error the next note of the station is the next attempt.
void PipelineSwitch::learn(const StationNote& note) {
  if ((note.mac & kGroupBit) != 0) return;
  const auto entries = [&](v1::Update::Type type, std::uint32_t port) {
    const bool has_data = type == v1::Update::INSERT;
    return std::vector<v1::Update>{has_data
                                       ? program_.update(type, Table::stations, {note.mac}, {port})
                                       : program_.update(type, Table::stations, {note.mac}),
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

void PipelineSwitch::learn(const WorkerNote& note) {
  const auto found = std::find_if(jobs_.begin(), jobs_.end(), [&](const auto& each) {
    return each.second.index == note.job_index && each.second.is_in_tables;
  });
  if (found == jobs_.end() || note.worker >= found->second.workers.size()) return;
  Job& job = found->second;
  const Place place = {note.mac, note.udp_port, note.port};
  std::optional<Place>& known = job.workers[note.worker].place;
  if (known == place) return;
  const v1::Update::Type type = known ? v1::Update::MODIFY : v1::Update::INSERT;
  known = place;
  std::vector<v1::Replica> receivers;
  for (std::size_t worker = 0; worker < job.workers.size(); ++worker) {
    if (!job.workers[worker].place) continue;
    v1::Replica& replica = receivers.emplace_back();
    replica.set_egress_port(job.workers[worker].place->port);
    replica.set_instance(static_cast<std::uint32_t>(worker));
  }
  const bool is_written =
      write({program_.update(type, Table::workers, {job.index, note.worker},
                             {place.mac, ipv4_of(job.workers[note.worker].source), place.udp_port}),
             program_.update(v1::Update::MODIFY, kFirstJobGroup + job.index, receivers),
             sender_entry(job, note.worker, v1::Update::MODIFY)});
  if (is_written) return;
  // The worker's next note is the next attempt.
  known.reset();
  static_cast<void>(device_->remove(
      {program_.update(v1::Update::DELETE, Table::workers, {job.index, note.worker})}));
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
  std::erase_if(forgotten_, [this](const Job& job) { return delete_entries(job); });
  for (auto& [number, job] : jobs_) {
    if (job.end) mark_ended(job);
  }
}

site::SwitchStatus PipelineSwitch::status() {
  site::SwitchStatus status;
  status.plane = "p4";
  status.counts_traffic = false;
  status.jobs = registrar_->status();
  status.slots = options_.slots;
  for (const control::JobStatus& job : status.jobs) status.slots_used += job.slots;
  const auto counters = device_->read(program_.all_verdicts());
  const std::lock_guard lock(sending_);
  if (counters) counted_ = {};  // else those of the last time
  for (const v1::Entity& entity : counters.value_or(std::vector<v1::Entity>())) {
    const std::int64_t index = entity.counter_entry().index().index();
    const std::int64_t packets = entity.counter_entry().data().packet_count();
    if (index < 0 || index >= static_cast<std::int64_t>(core::VerdictCounters{}.size())) continue;
    counted_[static_cast<std::size_t>(index)] =
        static_cast<std::uint64_t>(std::max<std::int64_t>(packets, 0));
  }
  for (std::size_t i = 0; i < heard_.size(); ++i) status.packets[i] = counted_[i] + heard_[i];
  return status;
}

}  // namespace infold::p4
