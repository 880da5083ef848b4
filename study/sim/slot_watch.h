// SPDX-License-Identifier: Apache-2.0
//
// Watches every packet and checks the slot rules from outside the machines (R-060 and following). A
// chunk's answer leaves only after each worker's contribution has come. It says how many ranks it
// contains, and all workers always get the same answer. A worker sends a slot's next chunk only
// after the answer to the previous one. Memory: one record per aggregator and slot copy.
#pragma once

#include <bitset>
#include <string>
#include <vector>

#include "study/sim/nodes/wiring.h"

namespace infold::sim {

class SlotWatch final : public Observer {
 public:
  SlotWatch(const Scenario& scenario, const Wiring& wiring);

  void on_send(base::Instant now, const Path& path, std::span<const std::byte> bytes,
               std::uint64_t hash) override;
  void on_arrival(base::Instant now, const Path& path, std::span<const std::byte> bytes) override;
  void on_drop(base::Instant, const Path&, std::span<const std::byte>, DropCause) override {}

  // Returns the first broken rule, or an empty text while all are kept.
  const std::string& violation() const { return violation_; }
  // Returns the number of chunks that the roots answered.
  std::uint64_t answered() const { return answered_; }
  // Returns the contributions and answers that a network without loss would carry, over all hops. A
  // sum in parts counts as many packets as it has parts.
  std::uint64_t useful_packets() const { return useful_packets_; }

 private:
  // The fields of a packet that the watch reads, according to the wire's layout and without the
  // product's parser.
  struct Sighting {
    std::uint8_t kind = 0;
    std::uint8_t worker = 0;
    std::uint16_t slot = 0;
    std::uint16_t contributors = 0;
    std::uint32_t round = 0;
    std::uint32_t chunks = 1;
    std::uint32_t parts = 1;  // the parts of an exact sum
    bool is_brief = false;    // a result of data, without elements
  };
  template <typename Visit>
  static void for_each_chunk(Sighting seen, Visit&& visit);
  bool sight(std::span<const std::byte> bytes, Sighting& seen) const;

  struct Copy {
    std::uint32_t round = 0;
    std::uint32_t contributors = 0;  // the sum over the first contribution of each worker
    std::uint64_t answer_hash = 0;   // 0 before the answer
    std::uint64_t brief_hash = 0;    // 0 before the answer without elements
    std::uint32_t workers = 0;       // number of workers whose contributions came
    std::bitset<INFOLD_WORKERS_MAX> came_in;
    std::uint32_t with_data = 0;  // how many of these workers sent data, and the last one of them
    NodeId data_from{};
  };
  static bool is_answered(const Copy& copy) {
    return copy.answer_hash != 0 || copy.brief_hash != 0;
  }
  struct Station {
    bool is_aggregator = false;
    bool is_root = false;
    bool has_ended = false;  // it reported the job's end and takes no more
    std::uint32_t workers = 0;
    std::vector<Copy> copies;                // for an aggregator: two for each slot
    std::vector<std::uint32_t> round_known;  // for a worker or child: by site and slot
  };

  std::uint32_t& round_known(NodeId node, const Path& path, std::uint16_t slot);
  void contribution_arrives(base::Instant now, const Path& path, const Sighting& seen);
  void answer_leaves(base::Instant now, const Path& path, const Sighting& seen, std::uint64_t hash);
  void break_promise(base::Instant now, const Sighting& seen, const char* what);

  std::vector<Station> stations_;  // by node
  std::uint16_t slot_count_;
  std::uint32_t epoch_ = 0;
  std::string violation_;
  std::uint64_t answered_ = 0;
  std::uint64_t useful_packets_ = 0;
};

}  // namespace infold::sim
