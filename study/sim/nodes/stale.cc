// SPDX-License-Identifier: Apache-2.0
//
// Records the packets of a small job from another session, and sends them again and again.
#include "study/sim/nodes/stale.h"

#include <algorithm>

#include "base/check.h"
#include "core/aggregator/aggregator.h"
#include "core/worker/worker.h"
#include "numeric/codec.h"

namespace infold::sim {
namespace {

constexpr std::uint16_t kOldWorld = 2;
constexpr std::uint64_t kOldElements = 512;
// The longest time between two packets.
constexpr base::Duration kGapMax = base::microseconds(20);

}  // namespace

StaleSender::StaleSender(const Scenario& scenario, std::vector<PathId> up, std::vector<PathId> down)
    : random_(base::mix64(scenario.seed ^ 0x57A1E)),
      up_(std::move(up)),
      down_(std::move(down)),
      left_(scenario.stale_packets) {
  record(scenario, kJob, scenario.epoch - 1);
  record(scenario, kJob, scenario.epoch + 1);
  record(scenario, kJob + 1, scenario.epoch);
}

void StaleSender::record(const Scenario& scenario, std::uint16_t job, std::uint32_t epoch) {
  plan::Plan plan = scenario.plan;
  plan.world = kOldWorld;
  plan.trees = {plan::flat_tree(kOldWorld)};
  plan.trees.front().job = job;
  plan.trees.front().epoch = epoch;
  core::Aggregator aggregator(plan::aggregator_options(plan, 0, 0));

  std::vector<std::byte> tensor(kOldElements * sizeof(std::int32_t), std::byte{0x5A});
  std::vector<std::byte> room(plan.datagram_bytes_max);
  for (std::uint16_t rank = 0; rank < kOldWorld; ++rank) {
    core::Worker worker(plan::worker_options(plan, rank));
    core::TransferRequest request;
    request.layout = {core::WireFormat::i32, core::DataType::i32};
    request.elements = kOldElements;
    request.codec = numeric::codec(core::DataType::i32, core::WireFormat::i32, core::Reduction::sum,
                                   core::Collective::all_reduce);
    request.input = tensor.data();
    CHECK(worker.submit({}, request).has_value());
    while (const auto sent = worker.poll_transmit({}, room)) {
      const auto datagram = std::span(room).first(sent->bytes);
      contributions_.emplace_back(datagram.begin(), datagram.end());
      aggregator.handle_datagram(datagram);
      while (const auto answer = aggregator.poll_transmit()) {
        results_.emplace_back(answer->datagram.begin(), answer->datagram.end());
      }
    }
  }
}

void StaleSender::handle_timeout(base::Instant now, Outlet& outlet) {
  const bool upwards = random_.chance(0.5) || results_.empty();
  const Datagrams& datagrams = upwards ? contributions_ : results_;
  const std::vector<PathId>& paths = upwards ? up_ : down_;
  const auto& datagram = datagrams[random_.below(datagrams.size())];
  PacketPool& packets = outlet.packets();
  const PacketIndex packet = packets.take();
  std::copy(datagram.begin(), datagram.end(), packets.room(packet).begin());
  packets.set_bytes(packet, datagram.size());
  outlet.send(paths[random_.below(paths.size())], packet);
  --left_;
  next_at_ = now + base::Duration{random_.between(1, kGapMax.ns)};
}

}  // namespace infold::sim
