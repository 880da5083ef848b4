// SPDX-License-Identifier: Apache-2.0
//
// What the behaviour tests share: jobs with large tensors on plain links, and their speed. Virtual
// time is exact, so a run gives the same figures on every machine.
#pragma once

#include <algorithm>

#include "study/sim/scenario/named.h"
#include "study/sim/simulation.h"

namespace infold::sim {

// 25 MB of f32, the size of a bucket of gradients.
inline constexpr std::uint64_t kBucketElements = 6'250'000;
inline constexpr std::int64_t kPayloadBytes = 1'408;
// The bytes of a frame: payload, 11 exponents and their padding, header, and the link's overhead.
inline constexpr std::int64_t kFrameBytes = kPayloadBytes + 12 + 32 + kFrameOverheadBytes;

struct LinkPath {
  std::int64_t bits_per_second;
  base::Duration round_trip;

  // Returns the number of frames that fill the path.
  double frames() const {
    return static_cast<double>(bits_per_second) * static_cast<double>(round_trip.ns) / 1e9 / 8 /
           static_cast<double>(kFrameBytes);
  }
};

// Each rank sums `count` tensors of `elements` one after another, all in flight at once. There are
// four times as many slots as fill the path, as a controller that knows the path would choose.
inline Scenario tensors_on(LinkPath path, std::uint16_t world, std::uint64_t elements, int count) {
  Scenario scenario;
  scenario.name = "behaviour";
  scenario.plan.world = world;
  scenario.plan.trees = {plan::even_tree(world, 1, 1)};
  CallPlan call = sum_of_floats(core::WireFormat::bfp32, elements);
  call.bulk = true;
  scenario.calls.assign(static_cast<std::size_t>(count), call);
  scenario.plan.elements_max = 352;
  scenario.plan.small_slots = 64;
  scenario.plan.bulk_slots = static_cast<std::uint16_t>(std::clamp(4 * path.frames(), 448.0, 4e4));
  scenario.link = {.bits_per_second = path.bits_per_second,
                   .delay = path.round_trip / 2,
                   .queue_bytes_max = 1 << 20};
  scenario.host_queue_bytes = 0;
  scenario.liveness = base::seconds(1'000);
  return scenario;
}

// Returns the time at which the last rank had the result of this call.
inline base::Instant finished_at(const Simulation& simulation, std::size_t call) {
  base::Instant last;
  for (const WorkerNode* worker : simulation.wiring().workers) {
    last = std::max(last, worker->records()[call].finished_at);
  }
  return last;
}

// Returns the goodput as a share of the payload that the link could carry.
inline double share_of_link(LinkPath path, std::uint64_t elements, base::Duration took) {
  const double payload_bits = static_cast<double>(elements) * 32;
  const double most = static_cast<double>(path.bits_per_second) *
                      static_cast<double>(kPayloadBytes) / static_cast<double>(kFrameBytes);
  return payload_bits / (most * static_cast<double>(took.ns) / 1e9);
}

}  // namespace infold::sim
