// SPDX-License-Identifier: Apache-2.0
//
// Runs a whole small network with the fuzzer as its scheduler. Every byte picks the packet that
// arrives next, is lost or is repeated, or the timer that fires. The cases are too large for the
// exhaustive search. The same oracle checks the sums.
#include <bit>
#include <cstdio>
#include <vector>

#include "base/check.h"
#include "tests/exhaustive/local_steps.h"
#include "tests/hostile/operations.h"

namespace {

using namespace infold::exhaustive;
using infold::hostile::Operations;

const std::vector<Case>& cases() {
  using infold::core::Collective;
  using infold::core::WireFormat;
  static const std::vector<Case> all = {
      {.name = "3x2x6", .workers = 3, .slots = 2, .tensors = {{.chunks = 6}}},
      {.name = "2x3x9-two",
       .slots = 3,
       .small_slots = 2,
       .tensors = {{.chunks = 9}, {.chunks = 2}}},
      {.name = "striped", .workers = 3, .sites = 2, .slots = 2, .tensors = {{.chunks = 8}}},
      {.name = "tree",
       .workers = 4,
       .leaves = 2,
       .slots = 2,
       .tensors = {{.format = WireFormat::bfp16, .chunks = 4}, {.chunks = 1}}},
      {.name = "realign",
       .workers = 3,
       .slots = 2,
       .tensors = {{.format = WireFormat::bfp32, .chunks = 4, .wide_spread = true}}},
      {.name = "sparse",
       .workers = 3,
       .slots = 4,
       .tensors = {{.format = WireFormat::bfp16, .chunks = 9, .sparse = true}}},
      {.name = "quarters",
       .workers = 3,
       .slots = 4,
       .tensors = {{.chunks = 9, .sparse = true, .quarters = true}}},
      {.name = "adder", .workers = 4, .only_adds = true, .slots = 2, .tensors = {{.chunks = 5}}},
      {.name = "broadcast",
       .workers = 4,
       .slots = 2,
       .tensors = {{.collective = Collective::broadcast, .chunks = 5, .root = 2}}},
  };
  return all;
}

class Run {
 public:
  Run(const Case& one, Operations& operations) : machines_(one), operations_(operations) {
    const Wiring& wiring = machines_.wiring();
    for (std::uint32_t i = 0; i < wiring.node_count(); ++i) {
      const auto node = static_cast<NodeIndex>(i);
      if (wiring.is_worker(node)) {
        workers_.push_back({wiring.make_worker(node), {}, {}});
        take(machines_.command(node, workers_.back(), Command::submit));
      } else {
        aggregators_.push_back(wiring.make_aggregator(node));
      }
    }
  }

  void go() {
    while (!operations_.done()) {
      const std::uint32_t choice = operations_.below(16);
      if (choice == 0 || in_flight_.empty()) {
        fire(operations_.below(static_cast<std::uint32_t>(workers_.size())),
             operations_.below(4) == 0 ? Command::expire_all : Command::expire_first);
      } else {
        const std::size_t at = operations_.byte() % in_flight_.size();
        const PacketId packet = in_flight_[at];
        const bool stays = choice == 1;
        if (!stays) in_flight_.erase(in_flight_.begin() + static_cast<std::ptrdiff_t>(at));
        if (choice != 2) deliver(packet);
      }
      if (in_flight_.size() > 200) in_flight_.erase(in_flight_.begin());
    }
    finish();
  }

 private:
  // From here on the network has no faults, and everything must complete.
  void finish() {
    for (int rounds = 0; !done(); ++rounds) {
      CHECK_THAT(rounds, <, 500);
      while (!in_flight_.empty()) {
        const PacketId packet = in_flight_.front();
        in_flight_.erase(in_flight_.begin());
        deliver(packet);
      }
      for (std::uint32_t i = 0; i < workers_.size(); ++i) fire(i, Command::expire_first);
    }
  }

  bool done() const {
    for (const WorkerState& worker : workers_) {
      CHECK(!worker.facts.failed);
      if (worker.facts.finished < machines_.oracle().tensor_count()) return false;
    }
    return true;
  }

  void fire(std::uint32_t worker, Command command) {
    if (!workers_[worker].machine.poll_timeout()) return;
    take(machines_.command(static_cast<NodeIndex>(worker), workers_[worker], command));
  }

  void deliver(PacketId packet) {
    const NodeIndex node = machines_.packet(packet).to.node;
    if (node < workers_.size()) {
      take(machines_.deliver(node, workers_[node], packet));
    } else {
      take(machines_.deliver(node, aggregators_[node - workers_.size()], packet));
    }
  }

  void take(const Effects& effects) {
    if (!effects.complaint.empty()) std::fprintf(stderr, "%s\n", effects.complaint.c_str());
    CHECK(effects.complaint.empty());
    in_flight_.insert(in_flight_.end(), effects.sent.begin(), effects.sent.end());
    check_reuse(effects.began);
  }

  void check_reuse(std::uint64_t began) const {
    for (std::uint64_t left = began; left != 0; left &= left - 1) {
      const ChunkId before = machines_.before_in_copy(static_cast<ChunkId>(std::countr_zero(left)));
      if (before == kNoChunk) continue;
      for (const WorkerState& worker : workers_) CHECK((worker.facts.results >> before & 1) != 0);
    }
  }

  Machines machines_;
  Operations& operations_;
  std::vector<WorkerState> workers_;
  std::vector<infold::core::AnyAggregator> aggregators_;
  std::vector<PacketId> in_flight_;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  Operations operations(data, size);
  const Case& one = cases()[operations.below(static_cast<std::uint32_t>(cases().size()))];
  Run(one, operations).go();
  return 0;
}
