// SPDX-License-Identifier: Apache-2.0
//
// Traces for tests: a small one, and random ones that a seed determines.
#pragma once

#include <string>
#include <utility>

#include "base/prng.h"
#include "trace/trace.h"

namespace infold::trace {

inline Node compute_node(std::uint64_t id, std::uint64_t start_us, std::uint64_t duration_us,
                         std::vector<std::uint64_t> control_deps = {},
                         std::vector<std::uint64_t> data_deps = {}) {
  Node node;
  node.id = id;
  node.name = "compute";
  node.type = NodeType::compute;
  node.control_deps = std::move(control_deps);
  node.data_deps = std::move(data_deps);
  node.start_us = start_us;
  node.duration_us = duration_us;
  return node;
}

inline Node collective_node(std::uint64_t id, CollectiveKind kind, std::int64_t bytes,
                            std::uint64_t start_us, std::uint64_t duration_us,
                            std::vector<std::uint64_t> control_deps = {}) {
  Node node = compute_node(id, start_us, duration_us, std::move(control_deps));
  node.name = collective_name(kind);
  node.type = NodeType::collective;
  node.attributes = {make_attribute("comm_type", static_cast<std::int64_t>(kind)),
                     make_attribute("comm_size", bytes),
                     make_attribute("pg_name", std::string("0"))};
  return node;
}

// A step whose two buckets overlap the second half of its compute. The last compute waits for both
// sums.
inline Trace small_trace() {
  Trace trace;
  trace.version = "0.0.4";
  trace.attributes = {make_attribute("rank", std::int64_t{0}),
                      make_attribute("world", std::int64_t{2})};
  trace.nodes = {compute_node(1, 100, 50),
                 collective_node(2, CollectiveKind::all_reduce, 4096, 150, 70, {1}),
                 compute_node(3, 150, 30, {1}),
                 collective_node(4, CollectiveKind::all_reduce, 8192, 180, 60, {3}),
                 compute_node(5, 240, 10, {3}, {2, 4})};
  return trace;
}

inline std::string drawn_text(base::Prng& prng) {
  std::string text(prng.below(12), 'a');
  for (char& each : text) each = static_cast<char>('a' + prng.below(26));
  return text;
}

inline Attribute drawn_attribute(base::Prng& prng) {
  const std::string name = drawn_text(prng);
  switch (prng.below(7)) {
    case 0: return make_attribute(name, prng.chance(0.5));
    case 1: return make_attribute(name, static_cast<std::int32_t>(prng.next()));
    case 2: return make_attribute(name, static_cast<std::int64_t>(prng.next()));
    case 3: return make_attribute(name, prng.next());
    case 4: return make_attribute(name, prng.uniform());
    case 5: return make_attribute(name, drawn_text(prng));
    default: return make_attribute(name, std::vector<std::int64_t>(prng.below(5), -3));
  }
}

// Random nodes that depend only on earlier ones, so that there is no cycle.
inline Trace drawn_trace(std::uint64_t seed) {
  base::Prng prng(seed);
  Trace trace;
  trace.version = drawn_text(prng);
  for (std::uint64_t i = prng.below(4); i > 0; --i) {
    trace.attributes.push_back(drawn_attribute(prng));
  }
  const std::uint64_t count = prng.below(40);
  for (std::uint64_t i = 0; i < count; ++i) {
    Node node = compute_node(1000 - i, prng.below(10'000), prng.below(500));
    if (prng.chance(0.3)) {
      const auto kind = static_cast<CollectiveKind>(prng.below(kCollectiveKinds));
      node = collective_node(1000 - i, kind, prng.between(0, 1 << 20), prng.below(10'000), 7);
    } else {
      node.type = static_cast<NodeType>(prng.below(7));
    }
    for (std::uint64_t k = prng.below(3); i > 0 && k > 0; --k) {
      auto& deps = prng.chance(0.5) ? node.control_deps : node.data_deps;
      deps.push_back(1000 - prng.below(i));
    }
    if (prng.chance(0.2)) node.inputs = Values{drawn_text(prng), "[[3]]", "f", {}};
    if (prng.chance(0.2)) node.outputs = Values{};
    for (std::uint64_t k = prng.below(3); k > 0; --k) {
      node.attributes.push_back(drawn_attribute(prng));
    }
    trace.nodes.push_back(std::move(node));
  }
  return trace;
}

}  // namespace infold::trace
