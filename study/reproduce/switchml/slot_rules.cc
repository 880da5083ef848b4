// SPDX-License-Identifier: Apache-2.0
//
// A queue of arrivals, and a queue of timers. All timeouts are equal, so timers fire in the order
// in which they were set.
#include "study/reproduce/switchml/slot_rules.h"

#include <algorithm>
#include <deque>
#include <queue>
#include <vector>

#include "base/prng.h"

namespace infold::reproduce {
namespace {

struct Packet {
  std::int64_t at_ps = 0;
  std::uint64_t order = 0;  // decides between packets that arrive at one time
  std::uint32_t worker = 0;
  std::uint32_t slot = 0;
  std::uint64_t round = 0;  // the chunk is slot + round x slots
  bool is_result = false;
};

struct ArrivesLater {
  bool operator()(const Packet& a, const Packet& b) const {
    return a.at_ps != b.at_ps ? a.at_ps > b.at_ps : a.order > b.order;
  }
};

struct Timer {
  std::int64_t at_ps = 0;
  std::uint32_t worker = 0;
  std::uint32_t slot = 0;
  std::uint64_t round = 0;
  std::uint64_t sending = 0;  // numbers the sendings of a slot; each has its own timer
};

class Run {
 public:
  explicit Run(const SlotRules& rules)
      : rules_(rules),
        packet_ps_(rules.frame_bytes * 8'000'000'000'000 / rules.bits_per_second),
        delay_ps_(rules.round_trip.ns * 500),
        timeout_ps_(rules.timeout.ns * 1000),
        random_(rules.seed),
        up_free_ps_(rules.workers),
        down_free_ps_(rules.workers),
        asked_(rules.workers * std::size_t{rules.slots}),
        sums_(rules.slots) {}

  SlotRulesTime run() {
    for (std::uint32_t slot = 0; slot < rules_.slots && slot < rules_.chunks; ++slot) {
      for (std::uint32_t worker = 0; worker < rules_.workers; ++worker) {
        contribute(worker, slot, 0);
      }
    }
    while (left_ > 0) {
      if (!timers_.empty() && (packets_.empty() || timers_.front().at_ps < packets_.top().at_ps)) {
        const Timer timer = timers_.front();
        timers_.pop_front();
        fire(timer);
      } else {
        const Packet packet = packets_.top();
        packets_.pop();
        now_ps_ = packet.at_ps;
        packet.is_result ? take_result(packet) : take_contribution(packet);
      }
    }
    return {static_cast<double>(now_ps_) * 1e-12, timeouts_};
  }

 private:
  struct Asked {
    std::uint64_t round = 0;  // whose result the worker waits for
    std::uint64_t sendings = 0;
  };
  struct Sum {
    std::uint64_t round = 0;
    std::uint64_t came = 0;  // a bit for each worker
  };

  std::uint64_t all() const { return (std::uint64_t{1} << rules_.workers) - 1; }
  Asked& asked(std::uint32_t worker, std::uint32_t slot) {
    return asked_[worker * std::size_t{rules_.slots} + slot];
  }

  void send(std::vector<std::int64_t>& free_ps, Packet packet) {
    std::int64_t& free = free_ps[packet.worker];
    free = std::max(free, now_ps_) + packet_ps_;
    if (random_.chance(rules_.loss)) return;
    packet.at_ps = free + delay_ps_;
    packet.order = ++sent_;
    packets_.push(packet);
  }

  void contribute(std::uint32_t worker, std::uint32_t slot, std::uint64_t round) {
    Asked& one = asked(worker, slot);
    if (one.sendings == 0 || one.round != round) ++left_;
    one.round = round;
    ++one.sendings;
    send(up_free_ps_, {.worker = worker, .slot = slot, .round = round});
    timers_.push_back({now_ps_ + timeout_ps_, worker, slot, round, one.sendings});
  }

  void take_contribution(const Packet& packet) {
    Sum& sum = sums_[packet.slot];
    if (packet.round < sum.round || (packet.round == sum.round && sum.came == all())) {
      answer(packet.worker, packet);
      return;
    }
    if (packet.round > sum.round) sum = {.round = packet.round};
    sum.came |= std::uint64_t{1} << packet.worker;
    if (sum.came != all()) return;
    for (std::uint32_t worker = 0; worker < rules_.workers; ++worker) answer(worker, packet);
  }

  void answer(std::uint32_t worker, Packet packet) {
    packet.worker = worker;
    packet.is_result = true;
    send(down_free_ps_, packet);
  }

  void take_result(const Packet& packet) {
    if (asked(packet.worker, packet.slot).round != packet.round) return;
    --left_;
    const std::uint64_t next = packet.slot + (packet.round + 1) * rules_.slots;
    if (next < rules_.chunks) {
      contribute(packet.worker, packet.slot, packet.round + 1);
    } else {
      ++asked(packet.worker, packet.slot).round;
    }
  }

  void fire(const Timer& timer) {
    const Asked& one = asked(timer.worker, timer.slot);
    if (one.round != timer.round || one.sendings != timer.sending) return;
    now_ps_ = timer.at_ps;
    ++timeouts_;
    contribute(timer.worker, timer.slot, timer.round);
  }

  const SlotRules rules_;
  const std::int64_t packet_ps_;
  const std::int64_t delay_ps_;
  const std::int64_t timeout_ps_;
  base::Prng random_;
  std::vector<std::int64_t> up_free_ps_;    // by worker: when its link to the switch is free
  std::vector<std::int64_t> down_free_ps_;  // and the one from the switch
  std::vector<Asked> asked_;                // by worker and slot
  std::vector<Sum> sums_;                   // by slot
  std::priority_queue<Packet, std::vector<Packet>, ArrivesLater> packets_;
  std::deque<Timer> timers_;
  std::int64_t now_ps_ = 0;
  std::uint64_t left_ = 0;  // results that workers wait for
  std::uint64_t sent_ = 0;
  std::uint64_t timeouts_ = 0;
};

}  // namespace

SlotRulesTime run(const SlotRules& rules) { return Run(rules).run(); }

}  // namespace infold::reproduce
