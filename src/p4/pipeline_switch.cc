// SPDX-License-Identifier: Apache-2.0
//
// Brings jobs into the pipeline and out of it, and learns where stations and workers are.
#include "p4/pipeline_switch.h"

#include <algorithm>
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
  settled.slots = std::min(options.slots, limits_of(program.target()).slots);
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
  return {{.address = options_.listen.text(), .record = limits_.record}};
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
  if (job.options.world < limits_.ranks_min) {
    return refuse(RefusalReason::invalid,
                  fmt::format("the P4 pipeline sums for {} ranks and more", limits_.ranks_min));
  }
  if (job.options.slot_count > limits_.slots_of_job) {
    return refuse(RefusalReason::invalid,
                  fmt::format("the job wants {} slots; the P4 pipeline has {} for each job",
                              job.options.slot_count, limits_.slots_of_job));
  }
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
  // Entries of a job that is gone may still be there.
  const bool is_left = std::any_of(forgotten_.begin(), forgotten_.end(), [&](const Job& other) {
    return other.options.job == terms.job;
  });
  if (jobs_.contains(terms.job) || is_left) {
    return refuse(RefusalReason::in_use,
                  fmt::format("the P4 pipeline has a job {} already", terms.job));
  }
  if (const auto found = find_place(job); !found) return tl::unexpected(found.error());
  return &jobs_.emplace(terms.job, std::move(job)).first->second;
}

control::Answer<void> PipelineSwitch::find_place(Job& job) const {
  using control::RefusalReason;
  std::bitset<kJobsMax> used;
  std::map<std::uint32_t, std::uint32_t> slots;
  const auto rounded = [&](std::uint32_t count) {
    return (count + limits_.slots_step - 1) / limits_.slots_step * limits_.slots_step;
  };
  const auto note_use = [&](const Job& other) {
    used.set(other.index);
    slots[other.first_slot] = rounded(other.options.slot_count);
  };
  for (const auto& [number, other] : jobs_) note_use(other);
  for (const Job& other : forgotten_) note_use(other);
  const auto refuse = [](std::string why) {
    return tl::unexpected(control::Refusal{RefusalReason::full, std::move(why), -1});
  };
  if (used.all()) {
    return refuse(fmt::format(
        "the P4 pipeline has {} jobs, as many as it can; wait for the end of one", kJobsMax));
  }
  // A job may have more room than slots.
  const std::uint32_t total = limits_.slots_step > 1 ? limits_.slots : options_.slots;
  const auto room = find_room(std::move(slots), rounded(job.options.slot_count), total);
  if (!room) {
    return refuse(
        fmt::format("the P4 pipeline has no {} slots in a row free; wait for the end of another "
                    "job, or ask for fewer",
                    job.options.slot_count));
  }
  while (used.test(job.index)) ++job.index;
  job.first_slot = *room;
  return {};
}

control::Answer<void> PipelineSwitch::start_job(const control::JobTerms& terms) {
  SlotRange slots;
  {
    const std::lock_guard lock(mutex_);
    const control::Answer<Job*> made = make_job(terms);
    if (!made) return tl::unexpected(made.error());
    slots = {(*made)->first_slot, (*made)->options.slot_count};
  }
  const auto cleared = registers_->clear(*device_, slots);
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

// The entries by which packets are summed come last and go first, so that no packet meets half a
// job. A device takes the updates of one message in any order.
base::Attempt<void> PipelineSwitch::insert_entries(const Job& job) {
  if (const auto done = device_->write(entries_beside(job, v1::Update::INSERT)); !done) return done;
  return device_->write(target_->job_entries(job, v1::Update::INSERT));
}

bool PipelineSwitch::delete_entries(const Job& job) {
  return device_->remove(target_->job_entries(job, v1::Update::DELETE)).has_value() &&
         device_->remove(entries_beside(job, v1::Update::DELETE)).has_value();
}

std::vector<v1::Update> PipelineSwitch::entries_beside(const Job& job,
                                                       v1::Update::Type type) const {
  std::vector<v1::Update> updates = target_->sender_entries(job, type);
  updates.push_back(program_.update(type, kFirstJobGroup + job.index, {}));
  if (type != v1::Update::DELETE) return updates;
  for (std::uint8_t worker = 0; worker < job.workers.size(); ++worker) {
    updates.push_back(program_.update(type, Table::workers, {target_->name_of(job), worker}));
    for (v1::Update& each : target_->place_entries(job, worker, type)) {
      updates.push_back(std::move(each));
    }
  }
  return updates;
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
  if ((note.mac & kGroupBit) != 0 || note.port > limits_.port_max) return;
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

// A worker that speaks from another place is there from now on. What tells of the old place goes
// first. After an error the worker's next note is the next attempt.
void PipelineSwitch::learn(const WorkerNote& note) {
  const auto found = std::find_if(jobs_.begin(), jobs_.end(), [&](const auto& each) {
    return target_->name_of(each.second) == note.job && each.second.is_in_tables;
  });
  if (found == jobs_.end() || note.worker >= found->second.workers.size()) return;
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
  std::vector<v1::Update> updates = target_->place_entries(job, note.worker, v1::Update::INSERT);
  updates.push_back(program_.update(v1::Update::INSERT, Table::workers,
                                    {target_->name_of(job), note.worker},
                                    {place.mac, ipv4_of(worker.source), place.udp_port}));
  updates.push_back(program_.update(v1::Update::MODIFY, kFirstJobGroup + job.index, receivers));
  worker.is_in_tables = write(updates);
  if (!worker.is_in_tables) static_cast<void>(delete_place(job, note.worker));
}

bool PipelineSwitch::delete_place(Job& job, std::uint8_t worker) {
  PipelineWorker& known = job.workers[worker];
  if (!known.place) return true;
  std::vector<v1::Update> updates = target_->place_entries(job, worker, v1::Update::DELETE);
  updates.push_back(
      program_.update(v1::Update::DELETE, Table::workers, {target_->name_of(job), worker}));
  if (!device_->remove(updates)) return false;
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
  const auto counters = device_->read({program_.all_verdicts()});
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
