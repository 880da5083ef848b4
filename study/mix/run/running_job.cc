// SPDX-License-Identifier: Apache-2.0
//
// Turns the GPUs' gradients into calls of workers, and results into the GPUs' next work.
#include "study/mix/run/running_job.h"

#include <algorithm>

#include "base/check.h"
#include "study/sim/nodes/zeros.h"

namespace infold::mix {
namespace {

constexpr core::ElementLayout kIntegers = {core::WireFormat::i32, core::DataType::i32};
// The same as in the product. A bulk call announces itself with a packet in a small slot, so a job
// has at most this many calls in flight.
constexpr std::uint16_t kSmallSlots = 64;
// A host buffers this much in its own queue before it waits, as in the tests of behaviour.
constexpr std::int64_t kHostQueueBytes = 256 * 1024;
// Further calls wait at the rank until another one ends.
constexpr std::uint32_t kTransfersMax = 1'024;

double time_per_element(const sim::LinkOptions& link) {
  return link.bits_per_second == 0 ? 0 : 1 / static_cast<double>(link.bits_per_second);
}

}  // namespace

JobShape shape_on(const sim::Cluster& cluster, std::span<const sim::HostIndex> hosts) {
  JobShape shape;
  const sim::ClusterOptions& options = cluster.options();
  std::vector<std::uint32_t> ranks_of_rack(options.racks);
  for (const sim::HostIndex host : hosts) {
    shape.links.push_back({host, time_per_element(options.host_link)});
    ++ranks_of_rack[cluster.rack_of(host)];
  }
  const bool is_in_one = cluster.rack_of(hosts.front()) == cluster.rack_of(hosts.back());
  for (sim::RackIndex rack = 0; rack < options.racks; ++rack) {
    if (ranks_of_rack[rack] == 0) continue;
    if (is_in_one || ranks_of_rack[rack] > 1) shape.switches.push_back(rack);
    if (is_in_one) continue;
    shape.links.push_back(
        {std::uint32_t{cluster.host_count()} + rack, time_per_element(options.rack_link)});
  }
  if (!is_in_one) shape.switches.push_back(options.racks);
  return shape;
}

RunningJob::RunningJob(const RunningJobOptions& options, const Surroundings& around)
    : options_(options),
      around_(around),
      shape_(shape_on(around.cluster, options.hosts)),
      machines_(add_machines()),
      layers_(options.layers.size()) {
  shape_.job = options.index;
  for (std::size_t i = 0; i < layers_.size(); ++i) {
    shape_.elements += options.layers[i].elements;
    layers_[i].missing.resize(world());
  }
  for (std::uint16_t rank = 0; rank < world(); ++rank) {
    gpus_.emplace_back(GpuOptions{.layers = options_.layers,
                                  .iterations = options.iterations,
                                  .sigma = options.sigma,
                                  .seed = base::mix64(options.seed + rank)});
  }
}

sim::JobMachines RunningJob::add_machines() {
  plan::Plan plan{.world = world()};
  plan.elements_max = kChunkElements;
  plan.small_slots = kSmallSlots;
  plan.bulk_slots = options_.bulk_slots;
  plan.trees = {around_.cluster.tree_on(options_.hosts)};
  plan.trees.front().job = static_cast<std::uint16_t>(options_.index);
  plan.trees.front().epoch = 1;
  return around_.cluster.add_job(plan, options_.hosts, [&](std::uint16_t rank) {
    sim::WorkerNodeOptions node;
    node.worker = plan::worker_options(plan, rank);
    node.worker.transfers_max = kTransfersMax;
    node.worker.seed = base::mix64(options_.seed ^ base::mix64(rank));
    node.host_queue_bytes = kHostQueueBytes;
    return node;
  });
}

void RunningJob::start() {
  around_.scheduler.add_job(shape_);
  for (std::uint16_t rank = 0; rank < world(); ++rank) work(rank);
}

void RunningJob::remove() {
  around_.scheduler.remove_job(options_.index);
  around_.cluster.remove_job(machines_);
  machines_ = {};
}

void RunningJob::handle(const MixEvent& event) {
  switch (event.kind) {
    case MixEvent::Kind::submitted: CHECK(false); break;
    case MixEvent::Kind::work_ended: end_work(event.rank); break;
    case MixEvent::Kind::piece_summed: take_piece(event.rank, event.piece); break;
  }
}

void RunningJob::work(std::uint16_t rank) {
  Gpu& gpu = gpus_[rank];
  if (gpu.is_busy()) return;
  if (const auto time = gpu.begin()) {
    if (JobTrace* const trace = trace_of(rank)) {
      trace->add_work(around_.cluster.network().now(), *time, gpu);
    }
    around_.agenda.add({.at = around_.cluster.network().now() + *time,
                        .kind = MixEvent::Kind::work_ended,
                        .rank = rank,
                        .job = options_.index});
  }
}

void RunningJob::end_work(std::uint16_t rank) {
  const std::optional<std::uint32_t> made = gpus_[rank].end();
  if (made) {
    LayerState& layer = layers_[*made];
    const std::uint64_t elements = options_.layers[*made].elements;
    if (++layer.ranks_ready == world()) {
      layer.ranks_ready = 0;
      std::fill(layer.missing.begin(), layer.missing.end(), elements);
      if (JobTrace* const trace = trace_of(0)) {
        trace->begin_sum(around_.cluster.network().now(), *made, elements);
      }
      around_.scheduler.add({options_.index, *made, elements});
    }
  }
  work(rank);
}

void RunningJob::call(const Piece& piece) {
  const auto number = static_cast<std::uint32_t>(flights_.size());
  flights_.push_back({piece, world()});
  sim::Network& network = around_.cluster.network();
  for (std::uint16_t rank = 0; rank < world(); ++rank) {
    sim::Call call;
    call.at = network.now();
    call.request = sim::sum_of_zeros(kIntegers, piece.elements);
    call.request.priority = core::Priority::background;
    call.done = [this, rank, number] {
      around_.agenda.add({.at = around_.cluster.network().now(),
                          .kind = MixEvent::Kind::piece_summed,
                          .rank = rank,
                          .job = options_.index,
                          .piece = number});
    };
    machines_.workers[rank]->forget_finished();
    machines_.workers[rank]->add_call(std::move(call));
    network.wake(machines_.worker_nodes[rank]);
  }
}

void RunningJob::take_piece(std::uint16_t rank, std::uint32_t number) {
  Flight& flight = flights_[number];
  const Piece& piece = flight.piece;
  std::uint64_t& missing = layers_[piece.layer].missing[rank];
  CHECK_THAT(piece.elements, <=, missing);
  missing -= piece.elements;
  if (missing == 0) {
    if (JobTrace* const trace = trace_of(rank)) {
      trace->end_sum(around_.cluster.network().now(), piece.layer);
    }
    gpus_[rank].take_sum(piece.layer);
    work(rank);
  }
  if (--flight.ranks_missing == 0) around_.scheduler.finish(piece);
}

bool RunningJob::is_done() const {
  return std::all_of(gpus_.begin(), gpus_.end(), [](const Gpu& gpu) { return gpu.is_done(); });
}

base::Duration RunningJob::worked() const {
  base::Duration sum;
  for (const Gpu& gpu : gpus_) sum = sum + gpu.worked();
  return sum;
}

std::uint64_t RunningJob::retransmits() const {
  std::uint64_t sum = 0;
  for (const sim::WorkerNode* worker : machines_.workers) {
    const core::WorkerCounters counters = worker->worker().counters();
    sum += counters.resent_timeout + counters.resent_asked;
  }
  return sum;
}

}  // namespace infold::mix
