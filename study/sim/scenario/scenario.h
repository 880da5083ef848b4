// SPDX-License-Identifier: Apache-2.0
//
// All facts of a run, as plain data: the ranks, the links, the calls, the faults. A scenario and
// its seed determine every bit of a run. A scenario is drawn from a seed, named, or written by a
// test. Its makers are trusted, so no code checks it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/format.h"
#include "core/packet/packet.h"
#include "core/worker/worker.h"
#include "plan/plan.h"
#include "study/oracle/values.h"
#include "study/sim/network/faults.h"
#include "study/sim/network/link.h"

namespace infold::sim {

// A mean of what the ranks' compressors send (infold/compressor.h), as plain data.
struct CompressionPlan {
  std::string method;
  std::vector<std::pair<std::string, double>> settings;  // others keep their defaults
  std::vector<std::size_t> sides;                        // the tensor's sides; empty: one
};

// One call that all ranks make. With agreed exponents, digits and most methods of compression it
// becomes two transfers, the second after the first.
struct CallPlan {
  core::Collective collective = core::Collective::all_reduce;
  core::Reduction reduction = core::Reduction::sum;
  core::ElementLayout layout;
  std::uint64_t elements = 0;
  std::uint16_t root = 0;
  bool agreed = false;
  bool digits = false;  // floats that travel as integers
  // If set, the call makes a mean of f32. `layout` is then the layout of legs of floats; other legs
  // have their own.
  std::optional<CompressionPlan> compression;
  bool in_place = false;        // results overwrite the inputs
  bool after_previous = false;  // sends nothing before the previous call is done
  // Takes its place in the order at once, but its size is known only when the previous call is
  // done.
  bool sized_by_previous = false;
  bool is_sparse = false;  // does not send blocks of zeros to sites that accept such packets
  // The blocks that each rank claims to have, with a bit for each, instead of those that its values
  // have. Only for bulk calls, which are not compared.
  std::vector<std::vector<std::uint32_t>> present;
  // All ranks share one input and one output, and results are not compared. This is for tests that
  // measure only time, with tensors so large that a copy per rank would not fit in memory.
  bool bulk = false;
  core::Priority priority = core::Priority::automatic;
  std::uint32_t offset_bytes = 0;  // the tensor's place in its buffer
  base::Duration gap;              // after the previous call
  base::Duration deadline;         // from submission; 0: none
  oracle::ValueSource values;
  // The rank whose data each rank contributes; empty: its own.
  std::vector<std::uint16_t> value_rank;
};

struct PausePlan {
  std::uint16_t rank = 0;
  base::Instant from;
  base::Instant until;
};

// One rank's wrong call, or its decision to end the job.
struct Incident {
  enum class Kind : std::uint8_t {
    none,
    wrong_size,
    wrong_type,
    wrong_operation,
    wrong_root,
    never_calls,  // ends at the others' deadline
    cancels,
    leaves,
    count_,
  };
  Kind kind = Kind::none;
  std::uint16_t rank = 0;
  std::uint32_t call = 0;  // the call that is wrong, or the first one that is missing
  base::Duration after;    // from the rank's start to a cancel or leave
};
const char* incident_name(Incident::Kind kind);

// Another job had the number of the scenario's job before, on the same machines, with the same
// calls and other data. The network still holds some of its packets.
struct EarlierJob {
  Incident::Kind end = Incident::Kind::none;  // none: its calls succeeded; else cancels or leaves
  // Must differ from the scenario's epoch, as the protocol demands.
  std::uint32_t epoch = 0;
  std::uint32_t replays = 0;  // how many of its packets arrive
};

// The links of the aggregators below the roots. A rack or a host has one link, for all trees.
struct LowerLinks {
  LinkOptions rack;  // for a rack's switch, or any aggregator except a host's
  LinkOptions host;  // the host's ranks have no links, because they share memory
};

// The usual job number in the packets of a scenario's job.
inline constexpr std::uint16_t kJob = 7;

struct Scenario {
  std::string name = "custom";
  std::uint64_t seed = 1;
  plan::Plan plan{.world = 4, .small_slots = 16, .bulk_slots = 48};
  std::vector<CallPlan> calls;
  std::uint16_t job = kJob;
  std::uint32_t epoch = 2;

  // Applies to all workers and aggregators (core::WorkerOptions). Set it to 0 if only time matters.
  std::uint32_t check_period = 16;
  // Whether Outcome::hash covers the bytes of datagrams. Set it to false if only time matters.
  bool fingerprints = true;
  std::uint16_t window_max = 65'535;
  std::uint32_t transfers_max = 64;
  // How many workers each rank divides its sites among. Ranks beyond the end of the list have one.
  std::vector<std::uint8_t> drivers;

  LinkOptions link{.bits_per_second = 10'000'000'000,
                   .delay = base::microseconds(10),
                   .queue_bytes_max = 256 * 1024};
  // Unset: in each tree, each aggregator below a root has a link like a rank's.
  std::optional<LowerLinks> lower_links;
  bool only_adds = false;  // aggregators are pipelines that only add (core::Adder)
  // An aggregator on a host has one link for all its children. A switch has one link for each.
  bool aggregators_are_hosts = false;
  // A worker's host stops sending while this much waits in its own queue. With 0, it never checks.
  std::int64_t host_queue_bytes = 128 * 1024;
  // The number of datagrams that a worker's host keeps while the worker pauses.
  std::uint32_t receive_queue_packets = 256;

  FaultOptions up;    // towards the root
  FaultOptions down;  // towards the workers
  // Each endpoint draws a factor that multiplies the probabilities of its faults.
  bool asymmetric = false;
  std::vector<PausePlan> pauses;
  std::vector<base::Duration> starts;  // start of each rank; empty: all at once
  // The number of packets from an earlier epoch and from other jobs.
  std::uint32_t stale_packets = 0;
  std::optional<EarlierJob> earlier;
  Incident incident;
  // Each rank leaves the job when its own calls are done, even if others still fetch results.
  bool leave_when_done = false;

  // After faults, pauses and late starts have ended, all calls must end within this time.
  base::Duration liveness = base::seconds(30);
};

// Returns the plan with the job number and epoch that packets carry.
plan::Plan plan_of(const Scenario& scenario);

inline std::uint32_t replays_of(const Scenario& scenario) {
  return scenario.earlier ? scenario.earlier->replays : 0;
}

// Returns the time at which faults, pauses and late starts have ended.
base::Instant quiet_from(const Scenario& scenario);

// Returns a few lines that describe the scenario to people.
std::string describe(const Scenario& scenario);

}  // namespace infold::sim
