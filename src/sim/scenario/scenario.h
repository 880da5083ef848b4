// SPDX-License-Identifier: Apache-2.0
//
// All that a run consists of, as plain data: who is there, how they are connected, what they call,
// what goes wrong. A scenario and its seed determine every bit of a run. Drawn from a seed, named,
// or written by a test; not checked here beyond what its makers promise.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/format.h"
#include "core/packet/packet.h"
#include "core/worker/worker.h"
#include "oracle/values.h"
#include "plan/plan.h"
#include "sim/network/faults.h"
#include "sim/network/link.h"

namespace infold::sim {

// One call that all ranks make. Agreed exponents make it two transfers, the second after the first.
struct CallPlan {
  core::Collective collective = core::Collective::all_reduce;
  core::Reduction reduction = core::Reduction::sum;
  core::ElementLayout layout;
  std::uint64_t elements = 0;
  std::uint16_t root = 0;
  bool agreed = false;
  bool in_place = false;           // results overwrite the inputs
  bool after_previous = false;     // sends nothing before the call before is done
  bool sized_by_previous = false;  // has its place at once, and its size when that call is done
  bool leaves_out_zeros = false;   // sends no block of zeros where sites can do without
  // All ranks share one input and one output, and nothing is compared: for tensors so large that
  // a copy per rank would not fit, where only time is of interest.
  bool bulk = false;
  core::Priority priority = core::Priority::automatic;
  std::uint32_t offset_bytes = 0;  // of the tensor in its buffer
  base::Duration gap;              // from the call before it
  base::Duration deadline;         // from submission; 0: none
  oracle::ValueSource values;
  std::vector<std::uint16_t> value_rank;  // whose data each rank brings; empty: its own
};

struct PausePlan {
  std::uint16_t rank = 0;
  base::Instant from;
  base::Instant until;
};

// What one rank does wrong, or decides.
struct Incident {
  enum class Kind : std::uint8_t {
    none,
    wrong_size,
    wrong_type,
    wrong_operation,
    wrong_root,
    never_calls,  // ends in the others' deadline
    cancels,
    leaves,
    count_,
  };
  Kind kind = Kind::none;
  std::uint16_t rank = 0;
  std::uint32_t call = 0;  // which call is wrong, or missing with all after it
  base::Duration after;    // of a cancel or leave, from the rank's start
};
const char* incident_name(Incident::Kind kind);

// Before the scenario's job another job had its number, on the same machines: the same calls with
// other data. The network still has packets of it.
struct EarlierJob {
  Incident::Kind end = Incident::Kind::none;  // none: its calls succeeded; or cancels, or leaves
  std::uint32_t epoch = 0;                    // the scenario's own would break the protocol
  std::uint32_t replays = 0;                  // how many of its packets come
};

// What the packets of a scenario's job carry.
inline constexpr std::uint16_t kJob = 7;

struct Scenario {
  std::string name = "custom";
  std::uint64_t seed = 1;
  plan::Plan plan{.world = 4, .small_slots = 16, .bulk_slots = 48};
  std::vector<CallPlan> calls;
  std::uint32_t epoch = 2;

  std::uint16_t window_max = 65'535;
  std::uint32_t transfers_max = 64;

  LinkOptions link{.bits_per_second = 10'000'000'000,
                   .delay = base::microseconds(10),
                   .queue_bytes_max = 256 * 1024};
  // An aggregator on a host shares one link among its children; a switch has a port for each.
  bool aggregators_are_hosts = false;
  // A worker's host stops sending while so much waits in its own queue; 0: it never looks.
  std::int64_t host_queue_bytes = 128 * 1024;
  // Datagrams that a paused worker's host keeps for it.
  std::uint32_t receive_queue_packets = 256;

  FaultOptions up;    // towards the root
  FaultOptions down;  // towards the workers
  // Each rank has its own luck: intensities are multiplied by up to this, drawn per endpoint.
  bool asymmetric = false;
  std::vector<PausePlan> pauses;
  std::vector<base::Duration> starts;  // of each rank; empty: all at once
  std::uint32_t stale_packets = 0;     // of an earlier epoch and of other jobs, sent by nobody
  std::optional<EarlierJob> earlier;
  Incident incident;
  // Each rank leaves in good order when its own calls are done, whatever the others still fetch.
  bool leave_when_done = false;

  // After faults, pauses and late starts are over, all must be done within this.
  base::Duration liveness = base::seconds(30);
};

// With what the packets of the job carry.
plan::Plan plan_of(const Scenario& scenario);

inline std::uint32_t replays_of(const Scenario& scenario) {
  return scenario.earlier ? scenario.earlier->replays : 0;
}

// When nothing is wrong any more: the end of faults, pauses and starts.
base::Instant quiet_from(const Scenario& scenario);

// A few lines for people.
std::string describe(const Scenario& scenario);

}  // namespace infold::sim
