// SPDX-License-Identifier: Apache-2.0
//
// One run of a scenario with every checker on: the events, the virtual time, and the faults found.
// A run is a pure function of its scenario. Threads may run different scenarios at the same time.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "study/sim/nodes/wiring.h"
#include "study/sim/scenario/job.h"
#include "study/sim/slot_watch.h"

namespace infold::sim {

struct Outcome {
  std::vector<std::string> wrong;  // faults; empty: the run kept all promises
  base::Instant finished_at;       // end of the last rank's last call
  std::uint64_t hash = 0;          // a hash of all datagrams, events and results
  NetworkCounters network;
  core::WorkerCounters workers;    // over all ranks
  core::VerdictCounters verdicts;  // over all aggregators
  std::uint32_t packets_high_water = 0;
  std::int64_t queue_bytes_high_water = 0;
  std::uint64_t chunks_answered = 0;
  std::uint64_t useful_packets = 0;  // first sends and the answers to them, over all hops
  std::size_t memory_bytes = 0;      // size of all machines

  bool passed() const { return wrong.empty(); }
};

class Simulation {
 public:
  explicit Simulation(Scenario scenario);
  ~Simulation();

  // Observers see all packets. Add them before run().
  void observe(Observer* observer) { wiring_.network->add_observer(observer); }
  // Runs until every call of every rank has ended and the network is empty, or until time is up.
  Outcome run();
  // The first part of run(): moves packets until all calls have ended, and checks nothing.
  void run_network();

  const Scenario& scenario() const { return scenario_; }
  const Job& job() const { return job_; }
  const Wiring& wiring() const { return wiring_; }

 private:
  bool finished() const;
  void settle();
  void check_network();
  void check_calls();
  void check_successes();
  void check_failures();
  bool fails_the_call(std::uint16_t rank) const;
  bool moves_later_chunks() const;
  std::string check_failure(std::uint16_t rank, const core::Failure& failure) const;
  void count();
  void complain(std::string what) { outcome_.wrong.push_back(std::move(what)); }

  Scenario scenario_;
  Job job_;
  Wiring wiring_;
  SlotWatch slot_watch_;
  std::size_t memory_bytes_before_ = 0;
  Outcome outcome_;
};

inline Outcome run(const Scenario& scenario) { return Simulation(scenario).run(); }

}  // namespace infold::sim
