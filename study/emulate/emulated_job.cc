// SPDX-License-Identifier: Apache-2.0
#include "study/emulate/emulated_job.h"

#include <algorithm>
#include <utility>

#include "core/packet/packet.h"
#include "io/host/clock.h"
#include "join/job_plan.h"
#include "numeric/codec.h"

namespace infold::emulate {
namespace {

// A real rank has as many calls in flight (rank/calls).
constexpr std::uint32_t kTransfersMax = 1024;
constexpr std::int64_t kHostFrames = 4;
constexpr std::uint64_t kElementsMax = std::uint64_t{1} << 40;
// Ranks describe themselves in few elements.
constexpr std::uint64_t kSaidElementsMax = 1 << 20;

// Every rank brings a site, and the sites are in the order of the ranks.
void set_ranks_of_sites(const join::JobTerms& terms, plan::Plan& plan) {
  std::uint16_t rank = 0;
  for (std::size_t site = 0; site < terms.sites.size(); ++site) {
    if (terms.sites[site].at_rank) plan.trees[site].aggregators.front().rank = rank++;
  }
}

sim::Scenario scenario_of(const EmulationOptions& options, const join::JobTerms& terms) {
  sim::Scenario scenario;
  scenario.name = "emulation";
  scenario.seed = options.seed;
  scenario.plan = join::plan_of_sites(terms);
  if (options.shape.ranks_sum) set_ranks_of_sites(terms, scenario.plan);
  scenario.job = terms.job;
  scenario.epoch = terms.epoch;
  scenario.check_period = 0;
  scenario.fingerprints = false;
  scenario.transfers_max = kTransfersMax;
  scenario.link = options.link;
  scenario.lower_links = {options.rack_link, options.link};
  scenario.aggregators_are_hosts = options.shape.on_servers;
  // Only few frames wait at a rank. Otherwise all ranks would encode a window at once when a call
  // begins, which would make packets late.
  scenario.host_queue_bytes = kHostFrames * scenario.plan.datagram_bytes_max;
  scenario.up.loss = scenario.down.loss = options.loss;
  return scenario;
}

}  // namespace

JobCounters& JobCounters::operator+=(const JobCounters& other) {
  transfers += other.transfers;
  packets_in += other.packets_in;
  packets_out += other.packets_out;
  packets_refused += other.packets_refused;
  packets_emulated += other.packets_emulated;
  return *this;
}

// Stands in the network for a real rank, or for a real site.
class EmulatedJob::Portal final : public sim::Node {
 public:
  explicit Portal(EmulatedJob& job) : job_(job) {}

  void handle_packet(base::Instant now, sim::Parcel parcel, sim::Outlet& outlet) override {
    job_.deliver(now, parcel);
    outlet.packets().release(parcel.packet);
  }
  void handle_timeout(base::Instant, sim::Outlet&) override {}
  base::Instant next_timeout() const override { return base::Instant::never(); }

 private:
  EmulatedJob& job_;
};

sim::Portals EmulatedJob::portals() {
  sim::Portals portals;
  portals.ranks = static_cast<std::uint16_t>(options_.real);
  portals.have_switches = options_.real_switch.is_set();
  portals.have_links = !options_.real_have_links && !portals.have_switches;
  portals.make = [this] { return std::make_unique<Portal>(*this); };
  return portals;
}

EmulatedJob::EmulatedJob(const EmulationOptions& options, const join::JobTerms& terms,
                         base::Instant now, Deliver deliver)
    : options_(options),
      deliver_(std::move(deliver)),
      begun_(now),
      scenario_(scenario_of(options, terms)),
      no_calls_(scenario_),
      as_worker_(
          plan::worker_options(sim::plan_of(scenario_), static_cast<std::uint16_t>(options.real))),
      wiring_(sim::wire(scenario_, no_calls_, portals())) {
  const auto world = static_cast<std::uint16_t>(wiring_.workers.size());
  for (std::uint16_t rank = 0; rank < world; ++rank) {
    sim::WorkerNode* const worker = wiring_.workers[rank];
    const sim::NodeId node = wiring_.worker_nodes[rank];
    if (worker != nullptr) emulated_.push_back({worker, node, rank, {}});
    ranks_of_nodes_[node] = rank;
  }
}

void EmulatedJob::deliver(base::Instant now, const sim::Parcel& parcel) {
  lateness_.add(inside(io::monotonic_now()) - now);
  ++counters_.packets_out;
  sim::Network& network = *wiring_.network;
  const sim::Path& path = network.path(parcel.path);
  auto rank = ranks_of_nodes_.find(path.destination());
  const bool is_down = rank != ranks_of_nodes_.end();
  if (!is_down) rank = ranks_of_nodes_.find(path.source);
  deliver_({rank->second, path.site, is_down}, network.packets().bytes(parcel.packet));
}

// A stranger may send without end, so half of the buffers are kept for packets of emulated ranks.
void EmulatedJob::take(base::Instant now, Way way, std::span<const std::byte> datagram) {
  sim::Network& network = *wiring_.network;
  sim::PacketPool& packets = network.packets();
  if (packets.in_use() >= packets.packet_count_max() / 2 ||
      datagram.size() > scenario_.plan.datagram_bytes_max) {
    ++counters_.packets_refused;
    return;
  }
  ++counters_.packets_in;
  network.advance(inside(now));
  const sim::PacketIndex packet = packets.take();
  std::copy(datagram.begin(), datagram.end(), packets.room(packet).begin());
  packets.set_bytes(packet, datagram.size());
  const auto& paths = way.is_down ? wiring_.from_sites : wiring_.to_sites;
  network.send(paths[way.rank][way.site], packet);
  run(now);
}

// Finds a reason to refuse the transfer. A worker might refuse it, and its transfers would then
// have other numbers than rank 0's; or its values cannot be generated.
const char* EmulatedJob::find_obstacle(const join::TransferNote& note) const {
  core::ChunkSignature signature;
  signature.set_layout(note.layout);
  signature.set_operation(note.collective, note.reduction);
  if (!core::is_known_format(signature) || !as_worker_.sums(note.layout) ||
      core::chunk_elements(note.layout, as_worker_.limits) == 0) {
    return "rank 0 tells a transfer of a format that the job does not sum";
  }
  if (note.root >= as_worker_.world) return "rank 0 tells a transfer with a root of another job";
  if (note.after > counters_.transfers) return "rank 0 tells a transfer after one that is to come";
  if (note.elements > kElementsMax) return "rank 0 tells a transfer that no memory holds";
  if (options_.values == Values::generated && note.elements > 0 && !codec_of_generated(note)) {
    return "a call of fixed32, digits, blocks, rows or compressed gradients has no generated "
           "values; start the emulator with --values zeros";
  }
  return nullptr;
}

base::Result<void> EmulatedJob::note_size(const join::SizeNote& note) {
  if (unsized_.erase(note.transfer) == 0 || note.elements > kElementsMax) {
    return base::fail(base::Code::invalid_argument, "emulate",
                      "rank 0 tells a size that no transfer waits for");
  }
  for (const Rank& rank : emulated_) {
    rank.node->set_size(core::TransferId{note.transfer}, note.elements);
    wiring_.network->wake(rank.id);
  }
  return {};
}

core::TransferRequest EmulatedJob::request_of(const join::TransferNote& note) const {
  core::TransferRequest request;
  request.collective = note.collective;
  request.reduction = note.reduction;
  request.layout = note.layout;
  request.elements = note.elements;
  request.root = note.root;
  request.encoding = note.encoding;
  request.priority = note.priority;
  request.after = core::TransferId{note.after};
  request.sized_later = note.sized_later;
  if (note.elements > 0) request.codec = &contribution_codec();
  return request;
}

base::Result<void> EmulatedJob::note(base::Instant now, const join::CallNote& note) {
  if (is_over_) return {};
  run(now);
  wiring_.network->advance(inside(now));
  if (const auto* const size = std::get_if<join::SizeNote>(&note)) {
    const base::Result<void> sized = note_size(*size);
    run(now);
    return sized;
  }
  const auto& begun = std::get<join::TransferNote>(note);
  if (const char* const why = find_obstacle(begun)) {
    return base::fail(base::Code::invalid_argument, "emulate", why);
  }
  const core::TransferRequest request = request_of(begun);
  ++counters_.transfers;
  if (begun.sized_later) unsized_.insert(counters_.transfers);
  const bool is_generated = options_.values == Values::generated;
  if (!is_generated) listen_to(request);
  const core::TensorCodec* const generated = is_generated ? codec_of_generated(begun) : nullptr;
  for (Rank& rank : emulated_) add_call(now, rank, request, generated);
  run(now);
  return {};
}

// An all-gather is a broadcast from each rank. Programs use it to compare what ranks report about
// themselves, as PyTorch does for models. Emulated ranks therefore repeat what rank 0 has sent.
void EmulatedJob::listen_to(const core::TransferRequest& request) {
  if (request.collective != core::Collective::broadcast || request.root != 0) return;
  said_.reset();
  const core::TensorCodec* const codec = numeric::codec(request.layout.dtype, request.layout.format,
                                                        request.reduction, request.collective);
  if (codec == nullptr || request.elements == 0 || request.elements > kSaidElementsMax ||
      request.sized_later) {
    return;
  }
  said_ = Said{request, core::TransferId{counters_.transfers},
               std::make_shared<std::vector<std::byte>>(request.elements *
                                                        element_bytes(request.layout.dtype))};
  said_->request.codec = codec;
}

bool EmulatedJob::repeats(const core::TransferRequest& request) const {
  return said_ && request.collective == core::Collective::broadcast &&
         request.elements == said_->request.elements &&
         request.layout.format == said_->request.layout.format &&
         request.layout.dtype == said_->request.layout.dtype &&
         request.encoding == said_->request.encoding && !request.sized_later;
}

void EmulatedJob::add_call(base::Instant now, Rank& rank, const core::TransferRequest& request,
                           const core::TensorCodec* generated) {
  const base::Duration lag = options_.lag.of(options_.seed, rank.rank, counters_.transfers);
  rank.last_call_at = std::max(rank.last_call_at, inside(now) + lag);
  sim::Call call;
  call.at = rank.last_call_at;
  call.request = request;
  const bool is_said = said_ && said_->id == core::TransferId{counters_.transfers};
  if (is_said || (repeats(request) && request.root == rank.rank)) {
    call.request.codec = said_->request.codec;
    if (is_said) {
      call.request.output = said_->bytes->data();
    } else {
      call.request.input = said_->bytes->data();
      call.request.after = said_->id;
    }
    call.done = [bytes = said_->bytes] {};
  } else if (request.elements > 0) {
    const auto contribution =
        std::make_shared<Contribution>(Contribution{request.layout, rank.rank, generated});
    call.request.context = contribution.get();
    call.done = [contribution] {};  // keeps it until the call is forgotten
  }
  rank.node->forget_finished();
  rank.node->add_call(std::move(call));
  wiring_.network->wake(rank.id);
}

void EmulatedJob::end(base::Instant now, const core::Abort& abort) {
  is_over_ = true;
  run(now);
  wiring_.network->advance(inside(now));
  for (std::size_t site = 0; site < wiring_.aggregators.size(); ++site) {
    for (sim::AggregatorNode* const each : wiring_.aggregators[site]) {
      each->end(abort, *wiring_.network);
    }
  }
  run(now);
}

void EmulatedJob::run(base::Instant now) {
  while (wiring_.network->step(inside(now))) {
  }
}

base::Instant EmulatedJob::next_event() const {
  const base::Instant next = wiring_.network->next_event();
  return next == base::Instant::never() ? next : begun_ + (next - base::Instant{});
}

JobCounters EmulatedJob::counters() const {
  JobCounters counters = counters_;
  counters.packets_emulated = wiring_.network->counters().sent - counters.packets_in;
  return counters;
}

}  // namespace infold::emulate
