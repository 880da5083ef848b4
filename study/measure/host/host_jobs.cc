// SPDX-License-Identifier: Apache-2.0
#include "study/measure/host/host_jobs.h"

#include <stdexcept>
#include <unistd.h>

#include "study/measure/compare/launch.h"
#include "study/measure/host/cores.h"

namespace infold::measure {
namespace {

constexpr HostShape kShapes[] = {
    {"shared", "4 ranks and a switch on two cores; Gloo: 4 ranks", 4, 4, false},
    {"apart", "one rank and its switch, a core each; Gloo: 2 ranks, a core each", 1, 2, true},
};

// Only a hang takes as long.
constexpr std::chrono::seconds kLimit{60};

}  // namespace

std::span<const HostShape> host_shapes() { return kShapes; }

HostJobs::HostJobs() : lab_(Places::find()), cores_(spread_cores()) {
  if (cores_.size() < 2) throw std::runtime_error("it needs two cores, and may use only one");
  cores_.resize(2);
}

bool HostJobs::has_gloo() const {
  return access((lab_.places().rivals / "infold-rival-gloo").c_str(), X_OK) == 0;
}

HostSample HostJobs::infold(const HostShape& shape, const std::string& wire, const HostJob& job) {
  lab_.fresh_folder();
  SumJob sum;
  sum.world = shape.ranks;
  sum.bytes = job.bytes;
  sum.iterations = job.iterations;
  sum.deadline = kLimit;
  sum.wire = wire;
  sum.mtu = job.mtu;
  sum.shared_memory = false;
  SumPlaces places;
  places.on_switch = true;
  Launch launch = launch_infold(lab_, sum, places);
  for (desk::Words& words : launch.daemons) {
    words = on_cores(shape.apart ? std::span(cores_).last(1) : cores_, words);
  }
  for (desk::Words& words : launch.ranks) {
    words = on_cores(shape.apart ? std::span(cores_).first(1) : cores_, words);
  }
  return run(std::move(launch));
}

HostSample HostJobs::gloo(const HostShape& shape, const HostJob& job) {
  SumJob sum;
  sum.world = shape.gloo_ranks;
  sum.bytes = job.bytes;
  sum.iterations = job.iterations;
  Launch launch = launch_gloo(lab_, sum, "ring", lab_.fresh_folder());
  for (std::size_t rank = 0; rank < launch.ranks.size(); ++rank) {
    const std::span<const int> all = cores_;
    desk::Words& words = launch.ranks[rank];
    words = on_cores(shape.apart ? all.subspan(rank % all.size(), 1) : all, words);
  }
  return run(std::move(launch));
}

HostSample HostJobs::run(Launch launch) {
  const Measured measured = lab_.run(launch, kLimit);
  if (!measured.error.empty()) throw std::runtime_error(measured.error);
  const nlohmann::ordered_json& result = measured.result;
  if (result.value("check", "") != "ok") throw std::runtime_error("a sum is wrong");
  HostSample sample;
  sample.cpu_s_per_gb = result.value("cpu_s_per_gb", 0.0);
  sample.cpu_per_gb = {result.value("cpu_user_s_per_gb", 0.0),
                       result.value("cpu_system_s_per_gb", 0.0)};
  sample.median_ms = result.value("median_ms", 0.0);
  sample.p99_ms = result.value("p99_ms", 0.0);
  sample.sent_together = result.value("packets_sent_together", 0.0);
  sample.received_together = result.value("packets_received_together", 0.0);
  return sample;
}

}  // namespace infold::measure
