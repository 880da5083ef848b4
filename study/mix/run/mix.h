// SPDX-License-Identifier: Apache-2.0
//
// Runs a list of training jobs on one simulated cluster, with one scheduler. It reports when each
// job began and ended, and what links and GPUs did. The workers and aggregators are the product's.
// Processors take no time except as GPUs. A run is a pure function of its arguments.
//
// `scale` makes runs short: elements and GPU times are divided by it, while rates, delays and slots
// stay. The times in an outcome are multiplied by it again. A round trip therefore weighs more than
// in reality, by this factor.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "base/instant.h"
#include "study/mix/jobs/job_list.h"
#include "study/mix/jobs/worker_hosts.h"
#include "trace/trace.h"

namespace infold::mix {

// How sums share links and slots (schedulers/scheduler.h).
enum class SchedulerKind : std::uint8_t { none, priority, sincronia, slots };
inline constexpr SchedulerKind kSchedulers[] = {SchedulerKind::none, SchedulerKind::priority,
                                                SchedulerKind::sincronia, SchedulerKind::slots};
const char* scheduler_name(SchedulerKind scheduler);

struct MixOptions {
  WorkerHosts::Options hosts = {.racks = 4, .hosts_per_rack = 16};
  std::int64_t host_bits_per_second = 10'000'000'000;
  std::int64_t rack_bits_per_second = 10'000'000'000;
  base::Duration link_delay = base::nanoseconds(2'500);
  SchedulerKind scheduler = SchedulerKind::none;
  // Slots of each switch, one per chunk. Without slot sharing, each switch divides its slots into
  // `shares` equal parts. A job takes one part at each of its switches from its start to its end,
  // and waits if all parts are taken.
  std::uint32_t slots = 1'024;
  std::uint32_t shares = 16;
  std::uint32_t piece_chunks = 32;    // for all schedulers but none
  std::uint32_t credit_chunks = 128;  // the most chunks of one job in flight
  double scale = 100;
  double sigma = 0.02;  // jitter of each piece of a GPU's work, as a share of its time
  std::uint64_t seed = 1;
  bool is_traced = false;  // true: outcomes have traces
};

// Returns why a cluster with these options cannot run the jobs, or an empty text.
std::string reason_against(const MixOptions& options, std::span<const JobSpec> jobs);

struct JobOutcome {
  double submitted_s = 0;
  double started_s = 0;
  double ended_s = 0;
  double gpu_s = 0;  // how long one of its GPUs worked, as the mean over all
  std::uint16_t racks = 0;
  trace::Trace first_rank;  // only if the run is traced

  double completion_s() const { return ended_s - submitted_s; }
};

struct MixOutcome {
  std::vector<JobOutcome> jobs;  // in the order of the list
  double makespan_s = 0;         // from the first submission to the last end
  // The share of the makespan during which links sent, as the mean over all links and both
  // directions.
  double host_links_busy = 0;
  double rack_links_busy = 0;
  std::uint64_t packets = 0;
  std::uint64_t retransmits = 0;
  bool is_complete = true;         // false: keep_going() returned false
  std::vector<std::string> wrong;  // faults that the run found
};

// keep_going() is called repeatedly with the number of jobs that have ended. Requires:
// reason_against() returns an empty text.
MixOutcome run(const MixOptions& options, std::span<const JobSpec> jobs,
               const std::function<bool(std::size_t jobs_done)>& keep_going = {});

}  // namespace infold::mix
