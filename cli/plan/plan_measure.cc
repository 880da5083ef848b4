// SPDX-License-Identifier: Apache-2.0
#include "cli/plan/plan_measure.h"

#include <algorithm>
#include <cmath>
#include <fstream>
#include <thread>
#include <unistd.h>

#include <fmt/format.h>

#include "cli/line/quantity.h"
#include "study/desk/interrupt.h"
#include "study/predict/advice.h"

namespace infold::cli {
namespace {

// Above this rate the processor, and not the shaping, limits a link (docs/lab.md).
constexpr double kLinkMost = 1e9;
// The total rate of all workers' links, for each core. A datagram of 1500 bytes crosses two links,
// a bridge and three processes, which takes some 10 us of a core. Half of that rate is left for the
// sums.
constexpr double kRatePerCore = 0.5e9;
// Each host takes several processes, and their list should fit on one screen of `ps`.
constexpr std::size_t kHostsMost = 64;
constexpr double kSumMost_s = 60;
// The input, the output, and packets in queues.
constexpr std::uint64_t kCopiesOfTensor = 3;

// Long enough for a median, but short enough to measure all placements of a usual question within a
// minute.
constexpr double kSecondsPerPlacement = 3;
constexpr double kIterationsMin = 3;
constexpr double kIterationsMax = 200;

// Links without a limit run as fast as the processors, which the prediction accounts for.
bool is_limited(double bits_per_second) { return bits_per_second < predict::kUnlimited; }

std::string rate_words(double bits_per_second) {
  if (!is_limited(bits_per_second)) return "none";
  return fmt::format("{}mbit", bits_per_second / 1e6);
}

// Divides all rates and the size by the same factor, so that this machine can carry the links.
std::string scaled_down(const predict::Question& question, double rate_most) {
  double highest = question.worker_rates.front();
  for (const predict::Host& host : question.hosts) {
    if (is_limited(host.bits_per_second)) highest = std::max(highest, host.bits_per_second);
  }
  const double by_host = highest / kLinkMost;
  const double by_sum =
      question.worker_rates.front() * static_cast<double>(question.worker_rates.size()) / rate_most;
  const double factor = std::pow(10.0, std::ceil(std::log10(std::max(by_host, by_sum)) - 1e-9));
  if (question.worker_rates.front() / factor < 1e6) return "";
  const double bytes =
      std::max(1.0, std::round(static_cast<double>(question.tensor_bytes) / factor));
  std::string text = fmt::format(
      "; with rates and size divided by {:g} it takes as long, except for round trips: --link {}",
      factor, short_rate(question.worker_rates.front() / factor));
  for (const predict::Host& host : question.hosts) {
    const bool limited = is_limited(host.bits_per_second);
    text += " --place host:" + (limited ? short_rate(host.bits_per_second / factor) : "none");
  }
  return text + " --bytes " + short_bytes(static_cast<std::uint64_t>(bytes));
}

std::optional<std::string> too_fast(const predict::Question& question, const LabMachine& machine) {
  const double all = kRatePerCore * machine.cores;
  const auto workers = static_cast<double>(question.worker_rates.size());
  for (const predict::Host& host : question.hosts) {
    if (host.bits_per_second <= kLinkMost || !is_limited(host.bits_per_second)) continue;
    return fmt::format("a machine shapes links of up to {}, and {} is faster{}",
                       predict::rate_text(kLinkMost), host.name, scaled_down(question, all));
  }
  const double link = question.worker_rates.front();
  if (!is_limited(link)) return std::nullopt;
  if (link > kLinkMost) {
    return fmt::format("a machine shapes links of up to {}, not of {}{}",
                       predict::rate_text(kLinkMost), predict::rate_text(link),
                       scaled_down(question, all));
  }
  if (link * workers <= all) return std::nullopt;
  return fmt::format("{} links of {} carry more than the {} that {} core{} can move{}",
                     question.worker_rates.size(), predict::rate_text(link),
                     predict::rate_text(all), machine.cores, machine.cores == 1 ? "" : "s",
                     scaled_down(question, all));
}

// Returns the reason why a job cannot have the placement's weights, or an empty text. A job has one
// weight for its switches and one for its workers.
std::string uneven(const predict::Placement& placement, measure::SumPlaces& places) {
  std::optional<unsigned> host_weight, worker_weight;
  for (const predict::SiteShare& site : placement.sites) {
    const bool is_worker = site.name.starts_with("worker ");
    std::optional<unsigned>& weight = is_worker ? worker_weight : host_weight;
    if (!is_worker && site.weight == 0) continue;  // not a site of this job
    if (weight && *weight != site.weight) {
      return fmt::format("its {} have different weights, and a job has one weight for all of them",
                         is_worker ? "workers" : "hosts");
    }
    weight = site.weight;
  }
  if (worker_weight && *worker_weight == 0) return "only some of its workers sum";
  places.switch_weight = host_weight.value_or(1);
  places.worker_weight = worker_weight.value_or(1);
  return "";
}

// In the lab, each site of the placement becomes a separate host.
std::vector<std::uint64_t> hosts_of(const predict::Question& question,
                                    const predict::Placement& placement) {
  std::vector<std::uint64_t> found;
  std::vector<bool> taken(question.hosts.size(), false);
  for (const predict::SiteShare& site : placement.sites) {
    if (site.weight == 0) continue;
    for (std::size_t i = 0; i < question.hosts.size(); ++i) {
      if (taken[i] || question.hosts[i].name != site.name) continue;
      taken[i] = true;
      found.push_back(question.worker_rates.size() + i);
      break;
    }
  }
  return found;
}

std::uint64_t memory_available() {
  std::ifstream lines("/proc/meminfo");
  for (std::string word; lines >> word;) {
    std::uint64_t kilobytes = 0;
    if (word == "MemAvailable:" && lines >> kilobytes) return kilobytes * 1024;
  }
  return 0;
}

// The processor time of all cores since the machine started.
struct CoreTime {
  double all = 0;
  double idle = 0;
};

CoreTime core_time() {
  std::ifstream line("/proc/stat");
  std::string cpu;
  line >> cpu;
  CoreTime time;
  double value = 0;
  // user nice system idle iowait irq softirq steal. The fields after these are already included in
  // the first two.
  for (int column = 0; column < 8 && line >> value; ++column) {
    time.all += value;
    if (column == 3 || column == 4) time.idle += value;
  }
  return time;
}

double busy_share(const CoreTime& before, const CoreTime& after) {
  const double all = after.all - before.all;
  return all > 0 ? 1 - (after.idle - before.idle) / all : 0;
}

}  // namespace

LabMachine this_lab_machine(const measure::Places& places) {
  LabMachine machine;
  machine.cores = std::max(1U, std::thread::hardware_concurrency());
  machine.memory_bytes = memory_available();
  machine.is_root = geteuid() == 0;
  machine.has_gloo = access((places.rivals / "infold-rival-gloo").c_str(), X_OK) == 0;
  return machine;
}

std::optional<Refusal> refuse_to_measure(const predict::Question& question,
                                         const FormatNames& names,
                                         const std::vector<predict::Placement>& placements,
                                         const LabMachine& machine) {
  if (question.framing.frame_bytes != kShapedFrameBytes) {
    return Refusal{
        fmt::format("its links add {} bytes to a packet; drop --frame-bytes", kShapedFrameBytes),
        true};
  }
  if (question.framing.mtu < 1280 || question.framing.mtu > 9000) {
    return Refusal{
        fmt::format("its links have an MTU of 1280 to 9000, not {}", question.framing.mtu), true};
  }
  if (names.dtype != "f32" && names.dtype != "f64" && names.dtype != "i32") {
    return Refusal{fmt::format("infold bench allreduce sums f32, f64 and i32, not {}", names.dtype),
                   true};
  }
  if (!machine.is_root) {
    return Refusal{"it needs root, because it makes network namespaces; use sudo"};
  }
  const std::size_t hosts = question.worker_rates.size() + question.hosts.size();
  if (hosts > kHostsMost) {
    return Refusal{fmt::format("{} workers and hosts are more than the {} that it can start", hosts,
                               kHostsMost)};
  }
  if (const auto reason = too_fast(question, machine)) return Refusal{*reason};
  const std::uint64_t bytes =
      kCopiesOfTensor * question.tensor_bytes * question.worker_rates.size();
  if (bytes > machine.memory_bytes) {
    return Refusal{
        fmt::format("the tensors of all workers take {}, and {} of memory are free; choose "
                    "a smaller --bytes",
                    predict::bytes_text(static_cast<double>(bytes)),
                    predict::bytes_text(static_cast<double>(machine.memory_bytes)))};
  }
  for (const predict::Placement& each : placements) {
    if (each.time_s <= kSumMost_s) continue;
    return Refusal{
        fmt::format("one sum over {} would take {}, where at most {} are measured; choose a "
                    "smaller --bytes",
                    each.name, predict::time_text(each.time_s), predict::time_text(kSumMost_s))};
  }
  return std::nullopt;
}

measure::LabLinks lab_links(const predict::Question& question) {
  measure::LabLinks links;
  links.hosts = question.worker_rates.size() + question.hosts.size();
  links.rate = rate_words(question.worker_rates.front());
  links.mtu = question.framing.mtu;
  for (std::size_t i = 0; i < question.hosts.size(); ++i) {
    links.rates_at.emplace_back(question.worker_rates.size() + i,
                                rate_words(question.hosts[i].bits_per_second));
  }
  return links;
}

PlacementPlan plan_measurement(const predict::Question& question, const FormatNames& names,
                               const predict::Placement& placement, const LabMachine& machine) {
  PlacementPlan plan;
  if (placement.kind == predict::PlacementKind::ring) {
    plan.is_ring = machine.has_gloo && names.dtype == "f32";
    if (!machine.has_gloo) {
      plan.not_measured = "it needs Gloo's program, which ./dev bench compare builds";
    } else if (!plan.is_ring) {
      plan.not_measured = "Gloo's program sums f32 only";
    }
    return plan;
  }
  measure::SumPlaces places;
  places.on_switch = placement.kind == predict::PlacementKind::switch_in_path;
  places.on_workers = placement.kind == predict::PlacementKind::workers ||
                      placement.kind == predict::PlacementKind::mixed;
  places.hosts = hosts_of(question, placement);
  plan.not_measured = uneven(placement, places);
  if (plan.not_measured.empty()) plan.places = places;
  return plan;
}

unsigned measured_iterations(double predicted_s) {
  return static_cast<unsigned>(
      std::clamp(kSecondsPerPlacement / predicted_s, kIterationsMin, kIterationsMax));
}

std::vector<PlacementMeasured> measure_placements(
    const predict::Question& question, const FormatNames& names,
    const std::vector<predict::Placement>& placements, const measure::Places& places,
    const std::function<void(const predict::Placement& placement, unsigned iterations)>& begin) {
  const LabMachine machine = this_lab_machine(places);
  measure::Lab lab(places);
  lab.up(lab_links(question));
  std::vector<PlacementMeasured> all;
  for (const predict::Placement& placement : placements) {
    if (desk::InterruptGuard::interrupted()) break;
    const PlacementPlan plan = plan_measurement(question, names, placement, machine);
    PlacementMeasured& one = all.emplace_back();
    one.not_measured = plan.not_measured;
    if (!plan.not_measured.empty()) continue;
    measure::SumJob job;
    job.world = question.worker_rates.size();
    job.bytes = question.tensor_bytes;
    job.dtype = names.dtype;
    job.wire = names.dtype == "i32" ? "automatic" : names.wire;
    job.iterations = measured_iterations(placement.time_s);
    job.deadline = measure::hopeless_after(placement.time_s, job.iterations);
    begin(placement, job.iterations);
    const std::filesystem::path folder = lab.fresh_folder();
    const CoreTime before = core_time();
    const measure::Measured measured =
        lab.run(plan.is_ring ? measure::launch_gloo(lab, job, "ring", folder)
                             : measure::launch_infold(lab, job, *plan.places),
                job.deadline);
    one.busy = busy_share(before, core_time());
    one.error = measured.error;
    if (measured.error.empty()) one.seconds = measured.result.value("median_ms", 0.0) / 1e3;
  }
  return all;
}

}  // namespace infold::cli
