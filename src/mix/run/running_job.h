// SPDX-License-Identifier: Apache-2.0
//
// One job on the cluster, from its start to its end: a GPU and a worker for each rank. It tells the
// scheduler when all ranks have a gradient, and makes the calls that the scheduler names.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "mix/program/gpu.h"
#include "mix/run/agenda.h"
#include "mix/run/job_trace.h"
#include "mix/schedulers/scheduler.h"
#include "sim/cluster/cluster.h"

namespace infold::mix {

// The job's shape on these hosts. Links are numbered by host, then by rack; switches by rack, and
// the spine is the last one.
JobShape shape_on(const sim::Cluster& cluster, std::span<const sim::HostIndex> hosts);

// Integers in a packet that fits an MTU of 1500 bytes.
inline constexpr std::uint32_t kChunkElements = 352;

struct RunningJobOptions {
  JobIndex index = 0;
  std::vector<sim::HostIndex> hosts;  // of each rank
  std::vector<Layer> layers;          // elements as sent, times as worked
  std::uint32_t iterations = 1;
  double sigma = 0;
  std::uint64_t seed = 1;
  std::uint16_t bulk_slots = 1;
  JobTrace* trace = nullptr;  // of rank 0; outlives the job
};

class RunningJob {
 public:
  // What its events act on. All of them outlive the job.
  struct Surroundings {
    sim::Cluster& cluster;
    Agenda& agenda;
    Scheduler& scheduler;
  };

  RunningJob(const RunningJobOptions& options, const Surroundings& around);
  // Callbacks of calls in flight point to it.
  RunningJob(const RunningJob&) = delete;
  RunningJob& operator=(const RunningJob&) = delete;

  // Begins the GPUs' work.
  void start();
  // The cluster keeps nothing of it.
  void remove();
  void handle(const MixEvent& event);
  // All ranks sum the piece now.
  void call(const Piece& piece);

  const std::vector<sim::HostIndex>& hosts() const { return options_.hosts; }
  const JobShape& shape() const { return shape_; }
  bool is_done() const;
  base::Duration worked() const;  // by all GPUs
  std::uint64_t retransmits() const;

 private:
  struct Flight {
    Piece piece;
    std::uint16_t ranks_missing = 0;
  };
  struct LayerState {
    std::uint16_t ranks_ready = 0;
    std::vector<std::uint64_t> missing;  // elements whose sum this rank lacks
  };

  std::uint16_t world() const { return static_cast<std::uint16_t>(options_.hosts.size()); }
  JobTrace* trace_of(std::uint16_t rank) const { return rank == 0 ? options_.trace : nullptr; }
  sim::JobMachines add_machines();
  void work(std::uint16_t rank);
  void end_work(std::uint16_t rank);
  void take_piece(std::uint16_t rank, std::uint32_t number);

  RunningJobOptions options_;
  Surroundings around_;
  JobShape shape_;
  sim::JobMachines machines_;
  std::vector<Gpu> gpus_;
  std::vector<LayerState> layers_;
  std::vector<Flight> flights_;  // of all pieces so far
};

}  // namespace infold::mix
