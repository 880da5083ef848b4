// SPDX-License-Identifier: Apache-2.0
//
// Gives one input to one real machine, and says what the machine sends, what it takes, and what it
// does wrong. Packets get small numbers here, so that states of the network can be written as lists
// of numbers.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "tests/exhaustive/oracle.h"
#include "tests/exhaustive/wiring.h"

namespace infold::exhaustive {

using PacketId = std::uint16_t;
using ChunkId = std::uint16_t;
inline constexpr ChunkId kNoChunk = 0xFFFF;

// A packet on its way to one receiver. Two packets with the same bytes and receiver are one.
struct PacketInfo {
  Endpoint to;
  core::Kind kind = core::Kind::add;
  std::uint16_t slot = 0;
  std::uint32_t round = 0;
  std::uint8_t sender = 0;   // header field, for traces
  ChunkId chunk = kNoChunk;  // the first one, if a contribution has several
  std::uint64_t chunks = 0;  // all of them, as bits
  std::vector<std::byte> bytes;
};

// Inputs to a worker other than packets. A worker that was paused finds all of its timers due.
enum class Command : std::uint8_t { submit, expire_first, expire_all, cancel, count_ };

struct Effects {
  std::vector<PacketId> sent;
  std::uint64_t written = 0;  // worker: chunks whose result it took, by the oracle's number
  std::uint64_t began = 0;    // aggregator: the chunks it took a contribution to, as bits
  const char* verdict = "";   // aggregator
  std::string complaint;      // what the machine did wrong by itself
};

// Facts of a worker that the search asks for.
struct WorkerFacts {
  std::uint64_t results = 0;  // ChunkIds whose result or realign it has received
  std::uint64_t chunks = 0;   // the oracle's chunks it has received
  std::uint32_t submitted = 0;
  std::uint32_t finished = 0;  // transfers that ended
  bool failed = false;
};

struct WorkerState {
  core::WorkerTeam machine;
  base::Instant now;
  WorkerFacts facts;
};

class Machines {
 public:
  explicit Machines(const Case& model_case);

  Effects deliver(NodeIndex node, WorkerState& worker, PacketId packet);
  Effects deliver(NodeIndex node, core::AnyAggregator& aggregator, PacketId packet);
  Effects command(NodeIndex node, WorkerState& worker, Command command);

  // A packet that none of these machines sent.
  PacketId add_foreign(const PacketInfo& packet) { return intern(packet.to, packet.bytes); }
  const PacketInfo& packet(PacketId id) const { return packets_[id]; }
  std::uint32_t packet_count() const { return static_cast<std::uint32_t>(packets_.size()); }
  // The chunk two rounds before in the same slot, whose copy this one takes over.
  ChunkId before_in_copy(ChunkId chunk) const { return before_in_copy_[chunk]; }
  const Wiring& wiring() const { return wiring_; }
  const Oracle& oracle() const { return oracle_; }
  std::uint64_t runs() const { return runs_; }

 private:
  void apply(NodeIndex node, WorkerState& worker, Command command);
  void drain(NodeIndex node, WorkerState& worker, Effects& effects);
  void judge(NodeIndex node, WorkerState& worker, ChunkId answered, Effects& effects);
  PacketId intern(Endpoint to, std::span<const std::byte> bytes);
  ChunkId intern_chunk(NodeIndex site, std::uint16_t slot, std::uint32_t round);

  const Case& case_;
  Wiring wiring_;
  Oracle oracle_;
  std::vector<PacketInfo> packets_;
  std::map<std::vector<std::byte>, PacketId> packet_ids_;  // by bytes and receiver
  std::map<std::array<std::uint32_t, 3>, ChunkId> chunk_ids_;
  std::vector<ChunkId> before_in_copy_;
  std::uint64_t runs_ = 0;
};

}  // namespace infold::exhaustive
