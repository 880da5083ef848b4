// SPDX-License-Identifier: Apache-2.0
//
// Starts jobs as hosts and slots become free, and advances time in turn in the network and on the
// agenda.
#include "study/mix/run/mix.h"

#include <algorithm>
#include <deque>
#include <memory>
#include <numeric>

#include <fmt/format.h>

#include "study/mix/run/job_trace.h"
#include "study/mix/run/running_job.h"

namespace infold::mix {
namespace {

constexpr std::int64_t kPortQueueBytes = 1 << 20;
constexpr std::uint32_t kPacketsMin = 1U << 15;
constexpr std::uint32_t kPacketsMax = 1U << 20;
// The number of network steps between two calls of keep_going().
constexpr std::uint32_t kStepsBetweenLooks = 1U << 14;

// A worker's window is at most a quarter of its slots, so more slots than this do not help.
constexpr std::uint32_t kSlotsPerChunkInFlight = 4;

std::uint32_t slots_of_job(const MixOptions& options) {
  if (options.scheduler != SchedulerKind::slots) return options.slots / options.shares;
  return std::min(options.slots, kSlotsPerChunkInFlight * options.credit_chunks);
}

// More packets than can be under way. A worker's window is a quarter of its slots, or 32.
// Retransmissions and the sums of switches add to that.
std::uint64_t packets_of(const MixOptions& options) {
  constexpr std::uint32_t kSlotsMin = 128;
  return std::uint64_t{options.hosts.racks} * options.hosts.hosts_per_rack *
         options.hosts.places_per_host * std::max(slots_of_job(options), kSlotsMin);
}

sim::ClusterOptions cluster_options(const MixOptions& options, std::span<const JobSpec> jobs) {
  sim::ClusterOptions cluster;
  cluster.racks = options.hosts.racks;
  cluster.hosts_per_rack = options.hosts.hosts_per_rack;
  cluster.host_link = {.bits_per_second = options.host_bits_per_second,
                       .delay = options.link_delay,
                       .queue_bytes_max = kPortQueueBytes};
  cluster.rack_link = cluster.host_link;
  cluster.rack_link.bits_per_second = options.rack_bits_per_second;
  cluster.endpoint_count_max = 0;
  for (const JobSpec& job : jobs) {
    cluster.endpoint_count_max +=
        job.workers + 1U + std::min<std::uint32_t>(job.workers, options.hosts.racks);
  }
  cluster.packet_count_max = static_cast<std::uint32_t>(
      std::clamp<std::uint64_t>(packets_of(options), kPacketsMin, kPacketsMax));
  return cluster;
}

std::unique_ptr<Scheduler> make_scheduler(const MixOptions& options) {
  const PieceOptions pieces = {.piece = std::uint64_t{options.piece_chunks} * kChunkElements,
                               .credit = std::uint64_t{options.credit_chunks} * kChunkElements};
  switch (options.scheduler) {
    case SchedulerKind::none: break;
    case SchedulerKind::priority: return make_priority(pieces);
    case SchedulerKind::sincronia: return make_sincronia(pieces);
    case SchedulerKind::slots:
      return make_slot_sharing(pieces, std::uint64_t{options.slots} * kChunkElements);
  }
  return make_unscheduled();
}

class Mix {
 public:
  Mix(const MixOptions& options, std::span<const JobSpec> specs)
      : options_(options),
        specs_(specs),
        cluster_(cluster_options(options, specs)),
        scheduler_(make_scheduler(options)),
        hosts_(options.hosts),
        shares_used_(options.hosts.racks + 1U),
        jobs_(specs.size()) {
    outcome_.jobs.resize(specs.size());
    if (options.is_traced) traces_.assign(specs.size(), JobTrace(options.scale));
    for (std::size_t i = 0; i < specs.size(); ++i) {
      outcome_.jobs[i].submitted_s = specs[i].submit_s;
      agenda_.add(
          {.at = base::Instant{static_cast<std::int64_t>(specs[i].submit_s * 1e9 / options.scale)},
           .kind = MixEvent::Kind::submitted,
           .job = static_cast<JobIndex>(i)});
    }
  }

  MixOutcome run(const std::function<bool(std::size_t)>& keep_going) {
    for (std::uint64_t steps = 0; done_ < specs_.size(); ++steps) {
      if (keep_going && steps % kStepsBetweenLooks == 0 && !keep_going(done_)) {
        outcome_.is_complete = false;
        return std::move(outcome_);
      }
      if (!step()) {
        outcome_.wrong.push_back(fmt::format("nothing happens any more, and {} of {} jobs run",
                                             specs_.size() - done_, specs_.size()));
        return std::move(outcome_);
      }
    }
    measure();
    return std::move(outcome_);
  }

 private:
  // Handles one event from the agenda or from the network. Returns false if there is none.
  bool step() {
    sim::Network& network = cluster_.network();
    if (network.step(base::Instant{agenda_.next_at().ns - 1})) return true;
    if (agenda_.empty()) return false;
    network.advance(agenda_.next_at());
    handle(agenda_.take());
    while (const std::optional<Piece> piece = scheduler_->next()) jobs_[piece->job]->call(*piece);
    return true;
  }

  void handle(const MixEvent& event) {
    if (event.kind == MixEvent::Kind::submitted) {
      waiting_.push_back(event.job);
    } else {
      RunningJob& job = *jobs_[event.job];
      job.handle(event);
      if (!job.is_done()) return;
      end(event.job);
    }
    while (!waiting_.empty() && start(waiting_.front())) waiting_.pop_front();
  }

  bool shares_switches() const { return options_.scheduler == SchedulerKind::slots; }

  // Returns false if the job has to wait.
  bool start(JobIndex index) {
    const JobSpec& spec = specs_[index];
    const auto hosts = hosts_.place(spec.workers);
    if (!hosts) return false;
    const std::vector<std::uint32_t> switches = shape_on(cluster_, *hosts).switches;
    const bool has_shares =
        shares_switches() || std::all_of(switches.begin(), switches.end(), [&](std::uint32_t each) {
          return shares_used_[each] < options_.shares;
        });
    if (!has_shares) {
      hosts_.free(*hosts);
      return false;
    }
    for (const std::uint32_t each : switches) ++shares_used_[each];
    jobs_[index] = std::make_unique<RunningJob>(
        RunningJobOptions{.index = index,
                          .hosts = *hosts,
                          .layers = layers_of(*spec.model),
                          .iterations = spec.iterations,
                          .sigma = options_.sigma,
                          .seed = base::mix64(options_.seed + base::mix64(index)),
                          .bulk_slots = static_cast<std::uint16_t>(slots_of_job(options_)),
                          .trace = traces_.empty() ? nullptr : &traces_[index]},
        RunningJob::Surroundings{cluster_, agenda_, *scheduler_});
    JobOutcome& outcome = outcome_.jobs[index];
    outcome.started_s = std::max(now_s(), spec.submit_s);  // the network's clock rounds down
    outcome.racks = racks_of(*hosts);
    if (!traces_.empty()) traces_[index].start(outcome.submitted_s, outcome.started_s);
    jobs_[index]->start();
    return true;
  }

  // Counts the racks. The hosts are listed rack by rack.
  std::uint16_t racks_of(const std::vector<sim::HostIndex>& hosts) const {
    std::uint16_t count = 1;
    for (std::size_t i = 1; i < hosts.size(); ++i) {
      if (cluster_.rack_of(hosts[i]) != cluster_.rack_of(hosts[i - 1])) ++count;
    }
    return count;
  }

  void end(JobIndex index) {
    RunningJob& job = *jobs_[index];
    JobOutcome& outcome = outcome_.jobs[index];
    outcome.ended_s = now_s();
    outcome.gpu_s = static_cast<double>(job.worked().ns) * 1e-9 * options_.scale /
                    static_cast<double>(job.hosts().size());
    outcome_.retransmits += job.retransmits();
    for (const std::uint32_t each : job.shape().switches) --shares_used_[each];
    hosts_.free(job.hosts());
    job.remove();
    jobs_[index].reset();
    if (!traces_.empty()) outcome.first_rank = traces_[index].take();
    ++done_;
  }

  std::vector<Layer> layers_of(const Model& model) const {
    std::vector<Layer> layers;
    for (const Layer& layer : model.layers) {
      const auto elements = static_cast<double>(layer.elements) / options_.scale;
      layers.push_back({std::max<std::uint64_t>(1, static_cast<std::uint64_t>(elements)),
                        layer.forward_us / options_.scale, layer.backward_us / options_.scale,
                        layer.update_us / options_.scale});
    }
    return layers;
  }

  double now_s() const {
    return static_cast<double>(cluster_.network().now().ns) * 1e-9 * options_.scale;
  }

  void measure() {
    const double first_s = specs_.front().submit_s;
    outcome_.makespan_s = now_s() - first_s;
    outcome_.packets = cluster_.network().counters().sent;
    const double span_ps = outcome_.makespan_s / options_.scale * 1e12;
    const auto busy = [&](const sim::Cluster::LinkPair& links) {
      if (links.up == nullptr) return 0.0;
      return static_cast<double>(links.up->busy_ps() + links.down->busy_ps()) / 2 / span_ps;
    };
    for (sim::HostIndex host = 0; host < cluster_.host_count(); ++host) {
      outcome_.host_links_busy += busy(cluster_.host_links(host)) / cluster_.host_count();
    }
    for (sim::RackIndex rack = 0; rack < options_.hosts.racks; ++rack) {
      outcome_.rack_links_busy += busy(cluster_.rack_links(rack)) / options_.hosts.racks;
    }
  }

  MixOptions options_;
  std::span<const JobSpec> specs_;
  sim::Cluster cluster_;
  Agenda agenda_;
  std::unique_ptr<Scheduler> scheduler_;
  WorkerHosts hosts_;
  std::vector<std::uint32_t> shares_used_;  // by switch
  std::deque<JobIndex> waiting_;
  std::vector<std::unique_ptr<RunningJob>> jobs_;
  std::vector<JobTrace> traces_;  // one for each job, if the run is traced
  std::size_t done_ = 0;
  MixOutcome outcome_;
};

}  // namespace

const char* scheduler_name(SchedulerKind scheduler) {
  switch (scheduler) {
    case SchedulerKind::none: return "none";
    case SchedulerKind::priority: return "priority";
    case SchedulerKind::sincronia: return "sincronia";
    case SchedulerKind::slots: return "slots";
  }
  return "";
}

std::string reason_against(const MixOptions& options, std::span<const JobSpec> jobs) {
  const std::uint32_t hosts = std::uint32_t{options.hosts.racks} * options.hosts.hosts_per_rack;
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    if (jobs[i].workers <= hosts) continue;
    return fmt::format("job {} has {} workers, and the cluster has {} hosts", i + 1,
                       jobs[i].workers, hosts);
  }
  const bool has_shares = options.scheduler != SchedulerKind::slots;
  if (has_shares && options.slots / options.shares == 0) {
    return fmt::format("{} slots cannot be divided in {} shares: take fewer shares or more slots",
                       options.slots, options.shares);
  }
  if (packets_of(options) > kPacketsMax) {
    return fmt::format(
        "all workers' slots together are {}, and at most {} can be: take fewer hosts "
        "or slots, or more shares",
        packets_of(options), kPacketsMax);
  }
  const sim::ClusterOptions cluster = cluster_options(options, jobs);
  if (sim::node_count(cluster) > sim::kNodesMax ||
      2 * cluster.endpoint_count_max > sim::kPathsMax) {
    return fmt::format(
        "all jobs together have too many workers: with the switches they sum at, "
        "they are {}",
        cluster.endpoint_count_max);
  }
  return "";
}

MixOutcome run(const MixOptions& options, std::span<const JobSpec> jobs,
               const std::function<bool(std::size_t jobs_done)>& keep_going) {
  return Mix(options, jobs).run(keep_going);
}

}  // namespace infold::mix
