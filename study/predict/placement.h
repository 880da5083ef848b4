// SPDX-License-Identifier: Apache-2.0
//
// Where a job could have its sums made, and how long an all-reduce would take in each place. This
// is a model of links and processors (docs/plan.md): every link carries its rate in both directions
// at once, every processor takes packets one after another, and no packet is lost. Pure: it opens
// no socket.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "study/predict/link_bytes.h"
#include "study/predict/processors.h"

namespace infold::predict {

// A rate for links that have no limit, such as those between processes of one machine.
inline constexpr double kUnlimited = 1e15;

// Chunks of a large tensor that a worker has in flight to one site, in a job with the usual slots.
inline constexpr double kWindow = 112;

struct Host {
  std::string name;  // as in "host:100G"; equal names are equal hosts
  double bits_per_second = 0;
};

struct Question {
  // The rate of each worker's link, in bits per second and per direction. Ranks that share a host
  // and reduce through its memory first count as one worker here.
  std::vector<double> worker_rates;
  std::vector<Host> hosts;      // dedicated, each behind one port; at most 64
  bool switch_in_path = false;  // a port per worker, each as fast as that worker's link
  core::ElementLayout layout{core::WireFormat::bfp32, core::DataType::f32};
  std::uint64_t tensor_bytes = 100'000'000;
  Framing framing;
  double rtt_s = 50e-6;  // from host to host and back
  Processors processors;
  std::uint32_t host_threads = 1;  // for the switch on each dedicated host
  // Processors of the machine that runs all workers and sites, as in a lab; 0: each party has its
  // own machine.
  std::uint32_t shared_processors = 0;
};

enum class PlacementKind : std::uint8_t { ring, switch_in_path, hosts, workers, mixed };

struct SiteShare {
  std::string name;          // a host's name, or "worker 3"
  double share = 0;          // share of the tensor, as the weights give it
  std::uint16_t weight = 0;  // core::SiteOptions.weight; 0: not a site of this job
};

struct Placement {
  PlacementKind kind = PlacementKind::ring;
  std::string name;
  double time_s = 0;              // busy_s() plus the time of the hops
  double links_s = 0;             // for the busiest link
  double processors_s = 0;        // for the busiest processor
  double windows_s = 0;           // for the worker's windows, each of which takes a round trip
  std::string busiest_processor;  // a host's name, "a worker", or "the machine"
  std::uint32_t hops = 0;         // consecutive one-way trips between hosts
  std::string busiest_link;       // a host's name, or "a worker's link"
  double busiest_rate = 0;        // bits per second
  double busiest_bytes = 0;       // in each direction, including frames
  std::vector<SiteShare> sites;   // empty for a ring

  double busy_s() const { return std::max({links_s, processors_s, windows_s}); }
  bool is_processor_bound() const { return processors_s > std::max(links_s, windows_s); }
  bool is_window_bound() const { return windows_s > std::max(links_s, processors_s); }
};

// Returns every placement that makes sense for the question's sites, fastest first: the ring, the
// workers, the switch, each kind of host alone, all hosts, and all hosts with the workers' help.
// Requires: 2 to 256 workers, positive rates, a tensor of at least one byte.
std::vector<Placement> predict(const Question& question);

}  // namespace infold::predict
