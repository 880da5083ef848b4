// SPDX-License-Identifier: Apache-2.0
//
// One job on the cluster, from its start to its end, with a GPU and a worker for each rank. It
// tells the scheduler when all ranks have a gradient, and makes the calls that the scheduler
// chooses.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "study/mix/program/gpu.h"
#include "study/mix/run/agenda.h"
#include "study/mix/run/job_trace.h"
#include "study/mix/schedulers/scheduler.h"
#include "study/sim/cluster/cluster.h"

namespace infold::mix {

// Returns the job's shape on these hosts. Links are numbered by host, then by rack. Switches are
// numbered by rack, and the spine comes last.
JobShape shape_on(const sim::Cluster& cluster, std::span<const sim::HostIndex> hosts);

// The number of integers in a packet that fits an MTU of 1500 bytes.
inline constexpr std::uint32_t kChunkElements = 352;

struct RunningJobOptions {
  JobIndex index = 0;
  std::vector<sim::HostIndex> hosts;  // one for each rank
  std::vector<Layer> layers;          // elements as sent, times as worked
  std::uint32_t iterations = 1;
  double sigma = 0;
  std::uint64_t seed = 1;
  std::uint16_t bulk_slots = 1;
  JobTrace* trace = nullptr;  // for rank 0; outlives the job
};

class RunningJob {
 public:
  // The objects that its events act on. All of them outlive the job.
  struct Surroundings {
    sim::Cluster& cluster;
    Agenda& agenda;
    Scheduler& scheduler;
  };

  RunningJob(const RunningJobOptions& options, const Surroundings& around);
  // Not copyable, because callbacks of calls in flight point to it.
  RunningJob(const RunningJob&) = delete;
  RunningJob& operator=(const RunningJob&) = delete;

  // Begins the GPUs' work.
  void start();
  // After this the cluster keeps nothing of the job.
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
    std::vector<std::uint64_t> missing;  // elements whose sum a rank still lacks, by rank
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
  std::vector<Flight> flights_;  // for all pieces so far
};

}  // namespace infold::mix
