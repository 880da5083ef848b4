// SPDX-License-Identifier: Apache-2.0
//
// Runs Workers and Aggregators, and compares what they do with the oracle.
#include "tests/exhaustive/machines.h"

#include <algorithm>
#include <bit>

#include "base/check.h"
#include "core/packet/sparse_body.h"

namespace infold::exhaustive {
namespace {

// Longer than any timer backs off to.
constexpr base::Duration kPause = base::seconds(60);

// A realign answers a chunk as a result does, because the slot's next chunk may follow it.
std::uint64_t answers(const core::WorkerTeam& worker) {
  return worker.counters().received_result + worker.counters().received_realign;
}

std::uint64_t taken(const core::AnyAggregator& aggregator) {
  const core::VerdictCounters& counters = aggregator.counters();
  return counters[static_cast<std::size_t>(core::Verdict::contributed)] +
         counters[static_cast<std::size_t>(core::Verdict::completed)];
}

}  // namespace

Machines::Machines(const Case& model_case)
    : case_(model_case), wiring_(model_case), oracle_(model_case) {}

Effects Machines::deliver(NodeIndex node, WorkerState& worker, PacketId packet) {
  ++runs_;
  Effects effects;
  const std::uint64_t before = answers(worker.machine);
  const PacketInfo& info = packets_[packet];
  const ChunkId chunk = info.chunk;
  oracle_.erase_outputs();
  worker.machine.handle_datagram(worker.now, info.to.site, info.bytes);
  drain(node, worker, effects);
  judge(node, worker, answers(worker.machine) != before ? chunk : kNoChunk, effects);
  return effects;
}

Effects Machines::command(NodeIndex node, WorkerState& worker, Command command) {
  ++runs_;
  Effects effects;
  oracle_.erase_outputs();
  apply(node, worker, command);
  drain(node, worker, effects);
  judge(node, worker, kNoChunk, effects);
  return effects;
}

void Machines::judge(NodeIndex node, WorkerState& worker, ChunkId answered, Effects& effects) {
  WorkerFacts& facts = worker.facts;
  effects.written = oracle_.written_chunks(node, effects.complaint);
  if ((effects.written & facts.chunks) != 0) effects.complaint = "DOUBLE: a chunk was taken twice";
  facts.chunks |= effects.written;
  if (answered != kNoChunk) {
    const std::uint64_t bit = std::uint64_t{1} << answered;
    if ((facts.results & bit) != 0) effects.complaint = "DOUBLE: a result was taken twice";
    facts.results |= bit;
  }
  const bool complete = facts.finished == oracle_.tensor_count() && !facts.failed;
  if (complete && facts.chunks != oracle_.chunks_due(node)) {
    effects.complaint = "MISSING SUM: all transfers are called complete, but a chunk never came";
  }
}

void Machines::apply(NodeIndex node, WorkerState& worker, Command command) {
  switch (command) {
    case Command::submit:
      for (; worker.facts.submitted < oracle_.tensor_count(); ++worker.facts.submitted) {
        core::TransferRequest request = oracle_.request(worker.facts.submitted, node);
        if (case_.tensors[worker.facts.submitted].after_previous) {
          request.after = core::TransferId{worker.facts.submitted};
        }
        const auto id = worker.machine.submit(worker.now, request);
        // A job that somebody has cancelled refuses the call, so the call has failed.
        if (!id) worker.facts.failed = true;
      }
      return;
    case Command::expire_first:
    case Command::expire_all: {
      const auto deadline = worker.machine.poll_timeout();
      CHECK(deadline.has_value());
      worker.now = std::max(worker.now, *deadline);
      if (command == Command::expire_all) worker.now = worker.now + kPause;
      worker.machine.handle_timeout(worker.now);
      return;
    }
    case Command::cancel: worker.machine.cancel(worker.now); return;
    case Command::count_: return;
  }
}

void Machines::drain(NodeIndex node, WorkerState& worker, Effects& effects) {
  std::array<std::byte, 2048> out;
  const auto transmit = [&] {
    while (const auto sent = worker.machine.poll_transmit(worker.now, out)) {
      effects.sent.push_back(
          intern({wiring_.site_of(node, sent->site), sent->site}, {out.data(), sent->bytes}));
      CHECK_THAT(effects.sent.size(), <, 1000);
    }
  };
  transmit();
  while (const auto event = worker.machine.poll_event()) {
    transmit();  // what waited for that transfer
    ++worker.facts.finished;
    if (event->failure) {
      worker.facts.failed = true;
    } else if (event->ranks_summed == 0) {
      effects.complaint = "a transfer ended without anybody's data";
    }
  }
}

Effects Machines::deliver(NodeIndex node, core::AnyAggregator& aggregator, PacketId packet) {
  ++runs_;
  Effects effects;
  const std::uint64_t taken_before = taken(aggregator);
  const core::Verdict verdict = aggregator.handle_datagram(packets_[packet].bytes);
  effects.verdict = core::verdict_name(verdict);
  // If the packet has several chunks, it is known which were taken only if all were.
  const std::uint64_t chunks = packets_[packet].chunks;
  const auto count = static_cast<std::uint64_t>(std::popcount(chunks));
  if (taken(aggregator) - taken_before == count) effects.began = chunks;
  while (const auto sent = aggregator.poll_transmit()) {
    switch (sent->to) {
      case core::Aggregator::To::worker:
        effects.sent.push_back(intern(wiring_.below(node).at(sent->worker), sent->datagram));
        break;
      case core::Aggregator::To::all_workers:
        for (std::size_t i = 0; i < wiring_.below(node).size(); ++i) {
          effects.sent.push_back(intern(wiring_.below(node)[i], sent->datagram_for(i)));
        }
        break;
      case core::Aggregator::To::parent:
        effects.sent.push_back(intern({wiring_.parent_of(node).value(), 0}, sent->datagram));
        break;
    }
  }
  return effects;
}

PacketId Machines::intern(Endpoint to, std::span<const std::byte> bytes) {
  std::vector<std::byte> key(bytes.begin(), bytes.end());
  key.push_back(static_cast<std::byte>(to.node));
  key.push_back(static_cast<std::byte>(to.site));
  const auto [place, is_new] =
      packet_ids_.try_emplace(std::move(key), static_cast<PacketId>(packets_.size()));
  if (!is_new) return place->second;
  CHECK_THAT(packets_.size(), <, 0xFFFF);
  PacketInfo info;
  info.to = to;
  info.bytes.assign(bytes.begin(), bytes.end());
  core::Packet packet;
  CHECK(core::parse(info.bytes, packet) == core::Malformed::none);  // we send only what we parse
  info.kind = packet.header.kind;
  info.slot = packet.header.slot;
  info.round = packet.header.round;
  info.sender = packet.header.worker;
  if (info.kind != core::Kind::abort && info.kind != core::Kind::aborted) {
    const NodeIndex site = case_.leaves > 0 ? NodeIndex{0} : to.site;
    const std::uint32_t count = packet.is_sparse() ? core::SparseReader(packet).chunks() : 1;
    for (std::uint32_t i = count; i-- > 0;) {
      info.chunk = intern_chunk(site, static_cast<std::uint16_t>(info.slot + i), info.round);
      info.chunks |= std::uint64_t{1} << info.chunk;
    }
  }
  packets_.push_back(std::move(info));
  return place->second;
}

ChunkId Machines::intern_chunk(NodeIndex site, std::uint16_t slot, std::uint32_t round) {
  const auto next = static_cast<ChunkId>(before_in_copy_.size());
  const auto [place, is_new] = chunk_ids_.try_emplace({site, slot, round}, next);
  if (is_new) {
    CHECK_THAT(next, <, 64);
    const auto before = chunk_ids_.find({site, slot, round - 2});
    before_in_copy_.push_back(before == chunk_ids_.end() ? kNoChunk : before->second);
  }
  return place->second;
}

}  // namespace infold::exhaustive
