// SPDX-License-Identifier: Apache-2.0
//
// Runs a scenario to its end and checks it.
#include "study/sim/simulation.h"

#include <algorithm>

#include <fmt/format.h>

#include "study/sim/network/checksum.h"

namespace infold::sim {
namespace {

// How often a packet may be sent for each useful one, over a whole run. A loss of 30 % in both
// directions of each of three hops alone needs about 4. Queries about late ranks add to that.
constexpr std::uint64_t kSendsPerUsefulPacketMax = 12;
// An additional allowance for each rank's timers while another rank is paused or late, and for the
// job's end. Each aggregator passes a rank's queries up.
constexpr std::uint64_t kSendsPerRankMax = 400;
// In a tree, answers to one rank's query about a late rank go to all ranks.
constexpr std::uint64_t kSendsPerPairMax = 40;
// The most steps in which no time passes. All packets under way may arrive at once, but only once.
constexpr std::uint64_t kStepsPerInstantMax = 1U << 20;
// The time after the last call in which packets under way arrive and workers report the job's end.
constexpr base::Duration kSettle = base::seconds(60);

const char* field_of(Incident::Kind kind) {
  switch (kind) {
    case Incident::Kind::wrong_size: return "size";
    case Incident::Kind::wrong_type: return "type";
    case Incident::Kind::wrong_operation: return "operation";
    case Incident::Kind::wrong_root: return "root";
    default: return "";
  }
}

// Returns the number of hops on the longest way from a rank to a root.
std::uint64_t hops_of(const Scenario& scenario) {
  std::uint64_t most = 1;
  for (const plan::Tree& site : scenario.plan.trees) {
    std::vector<std::uint64_t> hops(site.aggregators.size(), 1);
    for (std::size_t i = 0; i < hops.size(); ++i) {
      most = std::max(most, hops[i]);
      for (const plan::Child& child : site.aggregators[i].children) {
        if (child.aggregator != 0) hops[child.aggregator] = hops[i] + 1;
      }
    }
  }
  return most;
}

// Returns true if `named` is the culprit or is in the culprit's branch. An aggregator knows its
// children but not their ranks, so above a tree's leaves it only knows the branch with the missing
// or wrong call.
bool names_culprit(const Scenario& scenario, std::uint16_t named) {
  const std::uint16_t culprit = scenario.incident.rank;
  if (named == culprit) return true;
  for (const plan::Tree& site : scenario.plan.trees) {
    for (const plan::Aggregator& aggregator : site.aggregators) {
      for (const plan::Child& child : aggregator.children) {
        if (contains(child.ranks, named) && contains(child.ranks, culprit)) return true;
      }
    }
  }
  return false;
}

// Returns true if a rank at its deadline names the right rank. It names the rank that it last
// learned was missing. If packets are lost, that may be a rank whose contribution was lost. In a
// tree it may be a rank of another branch.
bool knows_whom_it_waits_for(const Scenario& scenario) {
  const bool loses = scenario.up.any() || scenario.down.any() || !scenario.pauses.empty();
  return !loses && scenario.starts.empty() &&
         std::all_of(scenario.plan.trees.begin(), scenario.plan.trees.end(),
                     [](const plan::Tree& site) { return site.aggregators.size() == 1; });
}

std::size_t memory_of(const Wiring& wiring) {
  std::size_t bytes = 0;
  for (const WorkerNode* node : wiring.workers) bytes += node->worker().memory_bytes();
  for (const auto& site : wiring.aggregators) {
    for (const AggregatorNode* node : site) bytes += node->aggregator().memory_bytes();
  }
  return bytes;
}

}  // namespace

Simulation::Simulation(Scenario scenario)
    : scenario_(std::move(scenario)),
      job_(scenario_),
      wiring_(wire(scenario_, job_)),
      slot_watch_(scenario_, wiring_) {
  wiring_.network->add_observer(&slot_watch_);
  memory_bytes_before_ = memory_of(wiring_);
}

Simulation::~Simulation() = default;

Outcome Simulation::run() {
  wiring_.network->packets().tolerate_shortage();
  run_network();
  if (!wiring_.network->packets().ran_out()) settle();
  count();
  if (wiring_.network->packets().ran_out()) {
    // Everything else that could be said follows from this.
    outcome_.wrong = {fmt::format("more than {} packets were under way at {} ns",
                                  wiring_.network->packets().packet_count_max(),
                                  wiring_.network->now().ns)};
    return outcome_;
  }
  check_network();
  check_calls();
  return outcome_;
}

bool Simulation::finished() const {
  return std::all_of(wiring_.workers.begin(), wiring_.workers.end(),
                     [](const WorkerNode* worker) { return worker->finished(); });
}

void Simulation::run_network() {
  Network& network = *wiring_.network;
  const base::Instant limit = quiet_from(scenario_) + scenario_.liveness;
  // Asking every worker after every event would take more time than the events.
  constexpr std::uint32_t kStepsBetweenLooks = 64;
  bool more = true;
  std::uint64_t steps = 0;
  while (more && !finished()) {
    const base::Instant before = network.now();
    for (std::uint32_t i = 0; i < kStepsBetweenLooks && more; ++i) more = network.step(limit);
    if (network.packets().ran_out()) return;
    steps = network.now() == before ? steps + 1 : 0;
    if (steps * kStepsBetweenLooks > kStepsPerInstantMax) {
      complain(fmt::format("time stands still at {} ns", before.ns));
      return;
    }
  }
  if (finished()) return;
  complain(fmt::format("not finished by {} ns, {} ns after the last trouble", network.now().ns,
                       scenario_.liveness.ns));
}

void Simulation::settle() {
  Network& network = *wiring_.network;
  const base::Instant limit = network.now() + kSettle;
  while (!network.packets().ran_out() && network.step(limit)) {
  }
}

void Simulation::count() {
  for (const WorkerNode* node : wiring_.workers) {
    outcome_.workers += node->worker().counters();
    for (const CallRecord& record : node->records()) {
      if (record.finished_at == base::Instant::never()) continue;
      outcome_.finished_at = std::max(outcome_.finished_at, record.finished_at);
    }
  }
  for (const auto& site : wiring_.aggregators) {
    for (const AggregatorNode* node : site) {
      const core::VerdictCounters& counters = node->aggregator().counters();
      for (std::size_t i = 0; i < counters.size(); ++i) outcome_.verdicts[i] += counters[i];
    }
  }
  for (const Link* link : wiring_.links) {
    outcome_.queue_bytes_high_water =
        std::max(outcome_.queue_bytes_high_water, link->queued_bytes_high_water());
  }
  const Network& network = *wiring_.network;
  outcome_.network = network.counters();
  outcome_.packets_high_water = wiring_.network->packets().high_water();
  outcome_.chunks_answered = slot_watch_.answered();
  outcome_.useful_packets = slot_watch_.useful_packets();
  outcome_.memory_bytes = memory_of(wiring_);
  outcome_.hash = base::mix64(network.hash() ^ base::mix64(job_.hash()));
  for (const WorkerNode* node : wiring_.workers) {
    for (const CallRecord& record : node->records()) {
      outcome_.hash = base::mix64(
          outcome_.hash + static_cast<std::uint64_t>(record.finished_at.ns) + record.event_count);
    }
  }
}

void Simulation::check_network() {
  if (!slot_watch_.violation().empty()) complain(slot_watch_.violation());
  PacketPool& packets = wiring_.network->packets();
  if (packets.in_use() != 0) {
    complain(fmt::format("{} packets still under way {} ns after the end", packets.in_use(),
                         kSettle.ns));
  }
  if (outcome_.memory_bytes != memory_bytes_before_) {
    complain(fmt::format("the machines' memory went from {} to {} bytes", memory_bytes_before_,
                         outcome_.memory_bytes));
  }
  const std::uint64_t allowed = kSendsPerUsefulPacketMax * outcome_.useful_packets +
                                kSendsPerRankMax * scenario_.plan.world * hops_of(scenario_) +
                                kSendsPerPairMax * scenario_.plan.world * scenario_.plan.world +
                                scenario_.stale_packets + replays_of(scenario_);
  if (outcome_.network.sent > allowed) {
    complain(fmt::format("{} packets were sent, where {} were useful", outcome_.network.sent,
                         outcome_.useful_packets));
  }
}

void Simulation::check_calls() {
  for (std::uint16_t rank = 0; rank < scenario_.plan.world; ++rank) {
    const auto& records = wiring_.workers[rank]->records();
    for (std::size_t i = 0; i < records.size(); ++i) {
      const std::uint32_t events = records[i].event_count + (records[i].refused ? 1U : 0U);
      if (events > 1) complain(fmt::format("rank {} call {} ended {} times", rank, i, events));
    }
  }
  if (scenario_.incident.kind != Incident::Kind::none) check_failures();
  check_successes();
}

// Checks the calls that a rank reported as complete. They must be complete at all ranks, and right.
void Simulation::check_successes() {
  const bool all_must_succeed = scenario_.incident.kind == Incident::Kind::none;
  for (std::size_t entry = 0; entry < job_.steps().size(); ++entry) {
    const Job::Step step = job_.steps()[entry];
    std::uint16_t succeeded = 0;
    for (std::uint16_t rank = 0; rank < scenario_.plan.world; ++rank) {
      const auto& records = wiring_.workers[rank]->records();
      if (entry >= records.size()) continue;
      const CallRecord& record = records[entry];
      const bool done = record.event && !record.event->failure;
      succeeded = static_cast<std::uint16_t>(succeeded + (done ? 1 : 0));
      if (done && record.event->ranks_summed != job_.ranks_summed(step)) {
        complain(fmt::format("rank {} call {} says that {} ranks were summed, not {}", rank, entry,
                             record.event->ranks_summed, job_.ranks_summed(step)));
      }
      if (!done && all_must_succeed) {
        const char* why = record.event     ? record.event->failure->error.detail
                          : record.refused ? record.refused->detail
                                           : "not finished";
        complain(fmt::format("rank {} call {}: {}", rank, entry, why));
      }
    }
    std::string wrong;
    if (succeeded == scenario_.plan.world) wrong = job_.compare(step);
    if (succeeded == 0) wrong = job_.compare_inputs(step);
    if (!wrong.empty()) complain(wrong);
  }
}

// Each call that could not succeed must have one failure, which names the rank and its action.
void Simulation::check_failures() {
  const Incident& incident = scenario_.incident;
  const bool is_mismatch = *field_of(incident.kind) != '\0';
  for (std::uint16_t rank = 0; rank < scenario_.plan.world; ++rank) {
    const auto& records = wiring_.workers[rank]->records();
    for (std::size_t entry = 0; entry < records.size(); ++entry) {
      const CallRecord& record = records[entry];
      if (record.refused) continue;
      const Job::Step step = job_.steps()[entry];
      const bool is_the_call = step.call == incident.call && !step.agrees;
      if (!record.event) {
        complain(fmt::format("rank {} call {} never ended", rank, entry));
      } else if (record.event->failure) {
        const std::string wrong = check_failure(rank, *record.event->failure);
        if (!wrong.empty()) complain(wrong);
      } else if (is_the_call && (is_mismatch || incident.kind == Incident::Kind::never_calls)) {
        complain(
            fmt::format("rank {} call {} succeeded without rank {}", rank, entry, incident.rank));
      }
    }
  }
}

// Returns true if the incident's call was in flight at this rank when the rank learned of the end.
bool Simulation::fails_the_call(std::uint16_t rank) const {
  const auto& records = wiring_.workers[rank]->records();
  for (std::size_t entry = 0; entry < records.size(); ++entry) {
    const Job::Step step = job_.steps()[entry];
    if (step.call != scenario_.incident.call || step.agrees) continue;
    return records[entry].event && records[entry].event->failure.has_value();
  }
  return false;
}

// Returns true if a call that is one element too short has one chunk less than the others' call.
// From that chunk on, chunks of different calls meet. The first two that meet show how these calls
// differ.
bool Simulation::moves_later_chunks() const {
  const Incident& incident = scenario_.incident;
  if (incident.kind != Incident::Kind::wrong_size) return false;
  const auto step = std::find_if(
      job_.steps().begin(), job_.steps().end(),
      [&](const Job::Step& each) { return each.call == incident.call && !each.agrees; });
  const core::TransferRequest right = job_.request_of(*step, incident.rank);
  return right.elements % core::chunk_elements(right.layout, plan::limits_of(scenario_.plan)) == 1;
}

std::string Simulation::check_failure(std::uint16_t rank, const core::Failure& failure) const {
  const Incident& incident = scenario_.incident;
  base::Code expected = base::Code::mismatch;
  bool named = names_culprit(scenario_, failure.rank) || names_culprit(scenario_, failure.other);
  switch (incident.kind) {
    case Incident::Kind::never_calls:
      expected = base::Code::deadline_exceeded;
      named = names_culprit(scenario_, failure.other) || !knows_whom_it_waits_for(scenario_);
      break;
    case Incident::Kind::cancels:
      expected = base::Code::cancelled;
      named = failure.rank == incident.rank;
      break;
    case Incident::Kind::leaves:
      expected = base::Code::aborted;
      named = failure.rank == incident.rank;
      break;
    default: break;
  }
  std::string_view field = field_of(incident.kind);
  // Root and size are one word on the wire. A rank uses its own call to tell them apart.
  const bool root_unknown = incident.kind == Incident::Kind::wrong_root && !fails_the_call(rank);
  const bool any_field = root_unknown || moves_later_chunks();
  if (any_field && *failure.field != '\0') field = failure.field;
  if (failure.error.code == expected && named && failure.field == field) return "";
  return fmt::format(
      "rank {} was told \"{}\" ({}) naming ranks {} and {} and field \"{}\", where rank {} {}",
      rank, failure.error.detail, code_name(failure.error.code), failure.rank, failure.other,
      failure.field, incident.rank, incident_name(incident.kind));
}

}  // namespace infold::sim
