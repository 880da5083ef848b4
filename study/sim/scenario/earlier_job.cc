// SPDX-License-Identifier: Apache-2.0
//
// Records the earlier job's packets, and replays them.
#include "study/sim/scenario/earlier_job.h"

#include <algorithm>
#include <deque>

#include "study/sim/simulation.h"

namespace infold::sim {
namespace {

// The limit for recorded packets. A network can only still hold the last packets of an earlier job.
constexpr std::size_t kRecordedMax = 2'048;
// The longest time between two packets, drawn for each run. Short gaps send all packets together;
// long ones spread them over the next job.
constexpr base::Duration kGapsMax[] = {base::nanoseconds(500), base::microseconds(20),
                                       base::microseconds(500)};

class Recording final : public Observer {
 public:
  struct Sent {
    Path path;
    std::vector<std::byte> bytes;
  };

  void on_send(base::Instant, const Path& path, std::span<const std::byte> bytes,
               std::uint64_t) override {
    sent_.push_back({path, {bytes.begin(), bytes.end()}});
    if (sent_.size() > kRecordedMax) sent_.pop_front();
  }
  void on_arrival(base::Instant, const Path&, std::span<const std::byte>) override {}
  void on_drop(base::Instant, const Path&, std::span<const std::byte>, DropCause) override {}

  const std::deque<Sent>& sent() const { return sent_; }

 private:
  std::deque<Sent> sent_;
};

Scenario earlier_scenario(const Scenario& scenario, base::Prng& random) {
  Scenario earlier = scenario;
  earlier.epoch = scenario.earlier->epoch;
  earlier.earlier.reset();
  earlier.stale_packets = 0;
  earlier.incident = {.kind = scenario.earlier->end,
                      .rank = static_cast<std::uint16_t>(random.below(scenario.plan.world)),
                      .call = 0,
                      .after = base::microseconds(random.between(0, 1'000))};
  for (CallPlan& call : earlier.calls) call.values.seed = base::mix64(call.values.seed);
  return earlier;
}

bool same_ends(const Path& a, const Path& b) {
  return a.source == b.source && a.site == b.site && a.destination() == b.destination();
}

}  // namespace

Replayer::Replayer(const Scenario& scenario, const Network& network)
    : random_(base::mix64(scenario.seed ^ 0xEA411E4)),
      left_(scenario.earlier->replays),
      left_in_order_(left_ / 2),
      gap_max_(kGapsMax[random_.below(std::size(kGapsMax))]) {
  Simulation earlier(earlier_scenario(scenario, random_));
  Recording recording;
  earlier.observe(&recording);
  earlier.run_network();
  for (const Recording::Sent& sent : recording.sent()) {
    PathId path = 0;
    while (!same_ends(network.path(path), sent.path)) ++path;
    datagrams_.push_back({path, sent.bytes});
  }
  if (datagrams_.empty()) left_ = 0;
}

// The last packets come first and in order, as after a short pause. After them come packets at
// random.
std::size_t Replayer::next_datagram() {
  if (left_in_order_ == 0) return random_.below(datagrams_.size());
  const std::size_t from_end = std::min<std::size_t>(left_in_order_--, datagrams_.size());
  return datagrams_.size() - from_end;
}

void Replayer::handle_timeout(base::Instant now, Outlet& outlet) {
  const Datagram& datagram = datagrams_[next_datagram()];
  PacketPool& packets = outlet.packets();
  const PacketIndex packet = packets.take();
  std::copy(datagram.bytes.begin(), datagram.bytes.end(), packets.room(packet).begin());
  packets.set_bytes(packet, datagram.bytes.size());
  outlet.send(datagram.path, packet);
  --left_;
  next_at_ = now + base::Duration{random_.between(1, gap_max_.ns)};
}

}  // namespace infold::sim
