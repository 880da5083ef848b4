// SPDX-License-Identifier: Apache-2.0
//
// Gives packets to both aggregators, and compares their answers.
#include "tests/replay/replay.h"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <tuple>

#include "core/packet/packet.h"
#include "study/sim/altered_testing.h"
#include "study/sim/nodes/stale.h"
#include "study/sim/scenario/draw.h"

namespace infold::replay {
namespace {

using conformance::Outgoing;

constexpr std::size_t kFollowedMax = 8;
constexpr std::uint32_t kSlotsMax = 512;  // the slots of the shared plane's program

std::uint16_t job_number(std::uint16_t number, std::size_t index) {
  return static_cast<std::uint16_t>(number + (index << 8));
}

core::AggregatorOptions options_of(const sim::Scenario& scenario, std::size_t site,
                                   std::size_t place, std::size_t index) {
  plan::Plan plan = sim::plan_of(scenario);
  plan.trees[site].job = job_number(sim::kJob, index);
  return plan::aggregator_options(plan, site, static_cast<std::uint16_t>(place));
}

// Returns what the aggregator sends. A packet to all becomes one for each of `workers`, unless that
// is 0.
std::vector<Outgoing> sent_by(core::Aggregator& aggregator, std::size_t workers) {
  std::vector<Outgoing> all;
  while (const auto sent = aggregator.poll_transmit()) {
    if (sent->to != core::Aggregator::To::all_workers || workers == 0) {
      all.push_back({static_cast<Outgoing::To>(sent->to),
                     sent->worker,
                     {sent->datagram.begin(), sent->datagram.end()}});
      continue;
    }
    for (std::size_t worker = 0; worker < workers; ++worker) {
      const std::span datagram = sent->datagram_for(worker);
      all.push_back({Outgoing::To::worker,
                     static_cast<std::uint8_t>(worker),
                     {datagram.begin(), datagram.end()}});
    }
  }
  return all;
}

std::string describe(const std::vector<Outgoing>& all) {
  std::string text;
  for (const Outgoing& one : all) {
    text += "\n      to " + std::to_string(static_cast<int>(one.to)) + "/" +
            std::to_string(one.worker) + ": " + conformance::describe(one.datagram);
  }
  return text.empty() ? "\n      nothing" : text;
}

bool same(std::vector<Outgoing> a, std::vector<Outgoing> b) {
  const auto key = [](const Outgoing& one) { return std::tie(one.to, one.worker, one.datagram); };
  const auto before = [&key](const Outgoing& x, const Outgoing& y) { return key(x) < key(y); };
  std::sort(a.begin(), a.end(), before);
  std::sort(b.begin(), b.end(), before);
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [&key](const Outgoing& x, const Outgoing& y) { return key(x) == key(y); });
}

std::vector<std::byte> renumbered(std::span<const std::byte> bytes, std::size_t index) {
  std::vector<std::byte> datagram(bytes.begin(), bytes.end());
  infold_be16 job;
  if (datagram.size() < INFOLD_HEADER_BYTES) return datagram;
  std::memcpy(&job, &datagram[offsetof(infold_header, job)], sizeof(job));
  job = infold_to_be16(job_number(infold_from_be16(job), index));
  std::memcpy(&datagram[offsetof(infold_header, job)], &job, sizeof(job));
  return datagram;
}

// Returns the verdict on a packet that passes steps 2 to 10 of R-007 or not, and is not summed.
std::string verdict_without_sum(const core::Packet& packet, const core::AggregatorOptions& job) {
  const core::Header& header = packet.header;
  core::Verdict verdict = core::Verdict::dropped_malformed;
  const core::Kind largest = job.parent_worker ? core::Kind::partial : core::Kind::result;
  const std::size_t bytes =
      core::datagram_bytes(largest, header.signature.layout(), header.signature.elements, true);
  if (const auto turned_away = core::turn_away(header, {}, job)) {
    verdict = *turned_away;
  } else if (header.slot >= job.slot_count) {
    verdict = core::Verdict::dropped_bad_slot;
  } else if (header.signature.elements > job.elements_max || bytes > job.datagram_bytes_max) {
    verdict = core::Verdict::dropped_limits;
  }
  return core::verdict_name(verdict);
}

// Whether the packet program drops what the aggregator sums: partial sums of native, and
// contributions in native whose type or job no rank sends.
bool is_unsummed(std::span<const std::byte> datagram, bool has_trees, core::FloatTypes types) {
  core::Packet packet;
  if (core::parse(datagram, packet) != core::Malformed::none) return false;
  const core::ElementLayout layout = packet.header.signature.layout();
  if (!layout.is_native()) return false;
  if (packet.header.kind == core::Kind::partial) return true;
  return packet.header.kind == core::Kind::add && (has_trees || !types.has(layout.dtype));
}

}  // namespace

void SideBySide::add(const core::AggregatorOptions& options) {
  core::AggregatorOptions alike = options;
  alike.pending = core::PendingForm::ranges;  // as the packet program names ranks
  aggregators_.emplace(options.job, alike);
  jobs_[options.job] = options;
  // One of the workers may get a brief result.
  apart_[options.job] = options.brief_results ? options.workers.size() : 0;
  plane_.add(options);
}

void SideBySide::deliver(std::span<const std::byte> datagram, bool is_summed) {
  core::Packet packet;
  std::string verdict = "dropped_malformed";
  std::vector<Outgoing> expected;
  if (core::parse(datagram, packet) == core::Malformed::none) {
    const auto found = aggregators_.find(packet.header.job);
    verdict = "dropped_foreign_job";
    if (found != aggregators_.end() && !is_summed) {
      verdict = verdict_without_sum(packet, jobs_.at(packet.header.job));
    } else if (found != aggregators_.end()) {
      verdict = core::verdict_name(found->second.handle_datagram(datagram));
      expected = sent_by(found->second, apart_.at(packet.header.job));
    }
  }
  plane_.inject(datagram);
  sent_ = plane_.collect();
  std::string counted = plane_.verdict();
  if (counted == "answered_probe") counted = "dropped_malformed";
  ++counters_.packets;
  ++counters_.verdicts[verdict];
  if (counted == verdict && same(expected, sent_)) return;
  difference_ = "after " + std::to_string(counters_.packets) +
                " packets\n    in: " + conformance::describe({datagram.begin(), datagram.end()}) +
                "\n    aggregator: " + verdict + describe(expected) +
                "\n    packet program: " + counted + describe(sent_);
}

// The host of a real aggregator drops these packets unread. The program may still answer a repeat
// from its header, because it sums nothing then. It must not take over any other field.
void SideBySide::deliver_damaged(std::span<const std::byte> datagram) {
  std::vector<std::byte> frame = plane_.frame_of(datagram);
  const std::size_t checksum = frame.size() - datagram.size() - 2;
  frame[checksum] ^= std::byte{0x10};
  plane_.inject_frame(frame);
  ++counters_.damaged;
  const std::string counted = plane_.verdict();
  const bool harmless = counted.starts_with("dropped_") || counted == "replayed" ||
                        counted == "answered_pending" || counted == "forwarded_again" ||
                        counted == "answered_ended";
  if (harmless) return;
  difference_ = "a damaged packet was believed: " + counted;
}

Replay::Replay(const sim::Scenario& scenario, const sim::Wiring& wiring,
               conformance::XdpPlane& plane, bool hostile, ReplayCounters& counters)
    : both_(plane, counters),
      hostile_(hostile),
      has_trees_(plan::limits_of(scenario.plan).tree),
      types_(plane.program().record().native()),
      counters_(counters),
      random_(scenario.seed ^ 0x7E91A7),
      followed_(wiring.network->node_count()) {
  const std::uint32_t slots = scenario.plan.small_slots + 0U + scenario.plan.bulk_slots;
  std::vector<std::pair<std::size_t, std::size_t>> places;
  for (std::size_t site = 0; site < scenario.plan.trees.size(); ++site) {
    for (std::size_t i = 0; i < scenario.plan.trees[site].aggregators.size(); ++i) {
      places.emplace_back(site, i);
    }
  }
  // Follows any of the aggregators, so that roots, leaves and those between get their turns.
  for (std::size_t i = places.size(); i > 1; --i)
    std::swap(places[i - 1], places[random_.below(i)]);
  places.resize(std::min({places.size(), kFollowedMax, std::size_t{kSlotsMax / slots}}));
  for (std::size_t index = 0; index < places.size(); ++index) {
    const auto [site, place] = places[index];
    const core::AggregatorOptions options = options_of(scenario, site, place, index);
    followed_[wiring.aggregator_nodes[site][place]] = index;
    both_.add(options);
  }
}

void Replay::on_arrival(base::Instant, const sim::Path& path, std::span<const std::byte> bytes) {
  const auto index = followed_[path.destination()];
  if (!index || !difference().empty()) return;
  const std::vector<std::byte> datagram = renumbered(bytes, *index);
  both_.deliver(datagram);
  if (!hostile_ || random_.below(16) != 0 || !difference().empty()) return;
  std::vector<std::byte> hostile = datagram;
  if (random_.chance(0.2)) hostile = sim::exact_part(hostile, random_);
  const bool has_tag = random_.chance(0.2);
  if (has_tag) hostile = sim::tagged(hostile, random_);
  // Tags of honest packets must be counted as such.
  if (!has_tag || random_.chance(0.5)) hostile = sim::altered(hostile, random_);
  // The program does not look into longer datagrams.
  if (hostile.size() > INFOLD_XDP_DATAGRAM_BYTES_MAX) return;
  ++counters_.hostile;
  both_.deliver(hostile, !is_unsummed(hostile, has_trees_, types_));
}

void Replay::on_drop(base::Instant, const sim::Path& path, std::span<const std::byte> bytes,
                     sim::DropCause cause) {
  const auto index = followed_[path.destination()];
  if (!index || !difference().empty() || cause != sim::DropCause::checksum) return;
  both_.deliver_damaged(renumbered(bytes, *index));
}

std::string replay_seed(std::uint64_t seed, conformance::XdpPlane& plane,
                        ReplayCounters& counters) {
  sim::Scenario scenario = sim::draw_scenario(seed);
  scenario.plan.datagram_bytes_max =
      std::min<std::uint32_t>(scenario.plan.datagram_bytes_max, INFOLD_XDP_DATAGRAM_BYTES_MAX);
  scenario.plan.elements_max =
      std::min<std::uint32_t>(scenario.plan.elements_max, INFOLD_XDP_ELEMENTS_MAX);
  for (plan::Tree& site : scenario.plan.trees) plan::set_takes_sparse(site, false);
  // The kernel sums floats of three types, and has no partial sums of them.
  const bool has_trees = plan::limits_of(scenario.plan).tree;
  const core::FloatTypes types = plane.program().record().native();
  for (sim::CallPlan& call : scenario.calls) {
    if (!call.layout.is_native() || (!has_trees && types.has(call.layout.dtype))) continue;
    call.layout.format = core::WireFormat::bfp32;
  }
  plane.use_ipv6(seed % 2 == 1);
  sim::Simulation simulation(scenario);
  Replay replay(simulation.scenario(), simulation.wiring(), plane, seed % 4 == 0, counters);
  simulation.observe(&replay);
  simulation.run_network();
  return replay.difference();
}

}  // namespace infold::replay
