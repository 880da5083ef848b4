// SPDX-License-Identifier: Apache-2.0
//
// Watches every packet for what the slot rules promise, from outside the machines (R-060 on): a
// chunk's answer leaves only after each worker's contribution came in, says how many ranks it
// holds, and is the same to everybody for ever; nobody takes a slot's next chunk before it has
// the answer to the one before. Memory: a record per aggregator and slot copy.
#pragma once

#include <bitset>
#include <string>
#include <vector>

#include "sim/nodes/wiring.h"

namespace infold::sim {

class SlotWatch final : public Observer {
 public:
  SlotWatch(const Scenario& scenario, const Wiring& wiring);

  void on_send(base::Instant now, const Path& path, std::span<const std::byte> bytes,
               std::uint64_t hash) override;
  void on_arrival(base::Instant now, const Path& path, std::span<const std::byte> bytes) override;
  void on_drop(base::Instant, const Path&, std::span<const std::byte>, DropCause) override {}

  // The first broken promise; empty while all are kept.
  const std::string& violation() const { return violation_; }
  // Slots' chunks that the roots answered.
  std::uint64_t answered() const { return answered_; }
  // Contributions and answers that any network would have to carry, over all hops.
  std::uint64_t useful_packets() const { return useful_packets_; }

 private:
  // What the watch reads of a packet: a few words of the header, by the wire's layout and not by
  // the product's parser.
  struct Sighting {
    std::uint8_t kind = 0;
    std::uint8_t worker = 0;
    std::uint16_t slot = 0;
    std::uint16_t contributors = 0;
    std::uint32_t round = 0;
    std::uint32_t chunks = 1;
  };
  template <typename Visit>
  static void for_each_chunk(Sighting seen, Visit&& visit);
  bool sight(std::span<const std::byte> bytes, Sighting& seen) const;

  struct Copy {
    std::uint32_t round = 0;
    std::uint32_t contributors = 0;  // as the first contribution of each worker says
    std::uint64_t answer_hash = 0;   // 0 before the answer
    std::uint32_t workers = 0;       // whose contributions came in
    std::bitset<INFOLD_WORKERS_MAX> came_in;
  };
  struct Station {
    bool is_aggregator = false;
    bool is_root = false;
    bool has_ended = false;  // said that the job is over; takes nothing since
    std::uint32_t workers = 0;
    std::vector<Copy> copies;                // of an aggregator, two a slot
    std::vector<std::uint32_t> round_known;  // of a worker or child, by site and slot
  };

  std::uint32_t& round_known(NodeId node, const Path& path, std::uint16_t slot);
  void contribution_arrives(base::Instant now, Station& station, const Sighting& seen);
  void answer_leaves(base::Instant now, Station& station, const Sighting& seen, std::uint64_t hash);
  void break_promise(base::Instant now, const Sighting& seen, const char* what);

  std::vector<Station> stations_;  // by node
  std::uint16_t slot_count_;
  std::uint32_t epoch_ = 0;
  std::string violation_;
  std::uint64_t answered_ = 0;
  std::uint64_t useful_packets_ = 0;
};

}  // namespace infold::sim
