// SPDX-License-Identifier: Apache-2.0
#include "study/reproduce/neuronabox/beside_emulator.h"

#include <algorithm>
#include <span>
#include <utility>

#include "join/transfer_note.h"
#include "study/whatif/calls/layout.h"
#include "study/whatif/calls/transfers.h"

namespace infold::reproduce {
namespace {

constexpr std::uint16_t kJob = 7;
constexpr std::uint32_t kEpoch = 2;
constexpr std::uint32_t kPackets = 1U << 16;
constexpr std::uint32_t kTransfersMax = 1024;
constexpr std::uint32_t kStepsMax = 1 << 20;

// Returns the plan of the setting, with the numbers that packets carry.
plan::Plan plan_with_numbers(const whatif::Setting& setting) {
  const auto plans = whatif::plans_of(setting, whatif::group_of_all(setting.ranks));
  plan::Plan plan = plans.value().front();
  plan.trees.front().job = kJob;
  plan.trees.front().epoch = kEpoch;
  return plan;
}

join::JobTerms terms_of(const plan::Plan& plan) {
  join::JobTerms terms;
  terms.job = kJob;
  terms.epoch = kEpoch;
  terms.world = plan.world;
  terms.datagram_bytes_max = plan.datagram_bytes_max;
  terms.elements_max = plan.elements_max;
  terms.small_slots = plan.small_slots;
  terms.bulk_slots = plan.bulk_slots;
  terms.brief_results = plan.brief_results;
  terms.sites = {{}};
  return terms;
}

emulate::EmulationOptions emulation_of(const whatif::Setting& setting, std::uint16_t real) {
  emulate::EmulationOptions options;
  options.ranks = setting.ranks;
  options.real = real;
  options.link = whatif::link_of(setting);
  options.loss = setting.loss;
  options.seed = setting.seed;
  return options;
}

sim::NetworkOptions network_of(const plan::Plan& plan, std::uint16_t real) {
  return {.node_count_max = 2U * real,
          .packet_count_max = kPackets,
          .parcel_count_max = 2 * kPackets,
          .packet_bytes_max = plan.datagram_bytes_max,
          .fingerprints = false};
}

join::TransferNote note_of(const core::TransferRequest& transfer) {
  join::TransferNote note;
  note.collective = transfer.collective;
  note.reduction = transfer.reduction;
  note.layout = transfer.layout;
  note.elements = transfer.elements;
  note.root = transfer.root;
  return note;
}

}  // namespace

// The node where a real rank's packets enter the emulator.
class BesideEmulator::Gate final : public sim::Node {
 public:
  Gate(BesideEmulator& owner, std::uint16_t rank) : owner_(owner), rank_(rank) {}

  void handle_packet(base::Instant now, sim::Parcel parcel, sim::Outlet& outlet) override {
    owner_.job_.run(now);
    owner_.job_.take(now, {rank_, 0, false}, outlet.packets().bytes(parcel.packet));
    outlet.packets().release(parcel.packet);
  }
  void handle_timeout(base::Instant, sim::Outlet&) override {}
  base::Instant next_timeout() const override { return base::Instant::never(); }

 private:
  BesideEmulator& owner_;
  const std::uint16_t rank_;
};

BesideEmulator::BesideEmulator(const whatif::Setting& setting, std::uint16_t real)
    : setting_(setting),
      network_(network_of(plan_with_numbers(setting), real)),
      job_(emulation_of(setting, real), terms_of(plan_with_numbers(setting)), base::Instant{},
           [this](emulate::Way way, std::span<const std::byte> datagram) {
             deliver(way.rank, datagram);
           }) {
  for (std::uint16_t rank = 0; rank < real; ++rank) add_rank(rank, plan_with_numbers(setting));
  network_.start();
}

BesideEmulator::~BesideEmulator() = default;

void BesideEmulator::add_rank(std::uint16_t rank, const plan::Plan& plan) {
  sim::WorkerNodeOptions options;
  options.worker = plan::worker_options(plan, rank);
  options.worker.transfers_max = kTransfersMax;
  options.worker.seed = base::mix64(setting_.seed + rank);
  auto worker = std::make_unique<sim::WorkerNode>(std::move(options));
  Rank added;
  added.node = worker.get();
  added.id = network_.add_node(std::move(worker));
  const sim::NodeId gate = network_.add_node(std::make_unique<Gate>(*this, rank));
  const auto add_path = [&](sim::NodeId from, sim::NodeId to) {
    sim::Path path;
    path.source = from;
    path.append(to);
    return network_.add_path(path);
  };
  added.node->connect({add_path(added.id, gate)}, nullptr, &network_);
  added.from_emulator = add_path(gate, added.id);
  ranks_.push_back(added);
}

void BesideEmulator::deliver(std::uint16_t rank, std::span<const std::byte> datagram) {
  sim::PacketPool& packets = network_.packets();
  const sim::PacketIndex packet = packets.take();
  std::copy(datagram.begin(), datagram.end(), packets.room(packet).begin());
  packets.set_bytes(packet, datagram.size());
  network_.send(ranks_[rank].from_emulator, packet);
}

// Emulated ranks make the transfers that rank 0 announces.
void BesideEmulator::note(base::Instant now, const std::vector<core::TransferRequest>& transfers) {
  for (const core::TransferRequest& transfer : transfers) {
    const auto noted = job_.note(now, note_of(transfer));
    if (!noted && fault_.empty()) fault_ = noted.error().detail;
  }
}

void BesideEmulator::begin(base::Instant now, const whatif::RankCall& call,
                           const trace::CallShape& shape) {
  network_.advance(now);
  Rank& own = ranks_[call.rank];
  const auto transfers = whatif::transfers_of(shape, setting_);
  if (call.rank == 0) note(now, transfers);
  whatif::add_call(*own.node, now, transfers, [this, call] { ended_.push_back(call); });
  network_.wake(own.id);
}

base::Instant BesideEmulator::run(base::Instant limit, std::vector<whatif::RankCall>& ended) {
  base::Instant now = network_.now();
  for (std::uint32_t steps = 0; ended_.empty() && steps < kStepsMax; ++steps) {
    const base::Instant next = std::min(job_.next_event(), network_.next_event());
    if (next > limit || next == base::Instant::never()) return limit;
    now = next;
    network_.advance(now);
    job_.run(now);
    while (network_.step(now)) {
    }
  }
  ended.insert(ended.end(), ended_.begin(), ended_.end());
  ended_.clear();
  return now;
}

}  // namespace infold::reproduce
