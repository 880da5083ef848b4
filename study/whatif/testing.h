// SPDX-License-Identifier: Apache-2.0
//
// Runs for the tests of predictions.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "study/whatif/steps_elsewhere.h"
#include "trace/testing.h"

namespace infold::whatif {

inline constexpr std::int64_t kBytes = 4'000'000;

inline Setting setting_at(Place place, std::uint16_t ranks = 4) {
  Setting setting;
  setting.ranks = ranks;
  setting.place = place;
  setting.bits_per_second = 1e9;
  setting.round_trip = base::microseconds(100);
  return setting;
}

// Returns the microseconds that a link of 1 Gbit/s needs to send a tensor in chunks.
inline double link_us(double parts = 1) {
  const predict::Passage passage = predict::passage_of(
      {core::WireFormat::native, core::DataType::f32}, kBytes / 4, predict::Framing());
  return parts * static_cast<double>(passage.link_bytes) * 8 / 1e3;
}

inline void set_rank(trace::Trace& trace, std::int64_t rank, std::int64_t ranks) {
  trace.attributes = {trace::make_attribute("rank", rank), trace::make_attribute("world", ranks)};
}

// A step that computes, sums, and then computes what needs the sum.
inline trace::Trace step_with(trace::CollectiveKind kind, std::int64_t bytes,
                              std::uint64_t compute_us = 1000) {
  trace::Trace trace;
  trace.nodes = {trace::compute_node(1, 0, compute_us),
                 trace::collective_node(2, kind, bytes, compute_us, 10, {1}),
                 trace::compute_node(3, compute_us + 10, 500, {1}, {2})};
  return trace;
}

// Makes the node a call of a group with these ranks.
inline void add_group(trace::Trace& trace, std::size_t node, const std::string& name,
                      const std::vector<std::int64_t>& ranks) {
  trace.nodes[node].attributes[2] = trace::make_attribute("pg_name", name);
  trace.attributes.push_back(trace::make_attribute("pg_ranks:" + name, ranks));
}

inline RecordedRun run_of(const trace::Trace& trace, std::int64_t ranks) {
  std::vector<trace::NamedTrace> traces;
  for (std::int64_t rank = 0; rank < ranks; ++rank) {
    traces.push_back({"trace." + std::to_string(rank) + ".et", trace});
    set_rank(traces.back().trace, rank, ranks);
  }
  return RecordedRun::make(std::move(traces)).value();
}

}  // namespace infold::whatif
