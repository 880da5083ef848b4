// SPDX-License-Identifier: Apache-2.0
#include "study/whatif/calls/formula_calls.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <utility>

#include "encoding/format_choice.h"
#include "study/whatif/calls/transfers.h"

namespace infold::whatif {
namespace {

using trace::CallShape;
using trace::CollectiveKind;

base::Duration seconds_of(double seconds) {
  return {static_cast<std::int64_t>(std::llround(seconds * 1e9))};
}

double link_s(double bytes, const Setting& setting) {
  return setting.bits_per_second > 0 ? bytes * 8 / setting.bits_per_second : 0;
}

// The time of one way between two hosts.
double hop_s(const Setting& setting) { return static_cast<double>(setting.round_trip.ns) / 2e9; }

// In a ring, each rank passes on messages that are one part each: in a sum all parts go round
// twice, in other calls once. Broadcasts, reductions to a root and barriers use a tree instead.
Cost ring_cost(const Setting& setting, const CallShape& shape) {
  const std::uint64_t ranks = setting.ranks;
  const auto tree_hops = static_cast<double>(std::bit_width(ranks - 1));
  const std::uint64_t width = element_bytes(shape.type);
  if (shape.kind == CollectiveKind::barrier) return {{}, seconds_of(tree_hops * hop_s(setting))};
  if (shape.kind == CollectiveKind::broadcast || shape.kind == CollectiveKind::reduce) {
    const auto bytes =
        static_cast<double>(predict::tcp_link_bytes(shape.input * width, setting.framing));
    return {seconds_of(link_s(bytes, setting)), seconds_of(tree_hops * hop_s(setting))};
  }
  const std::uint64_t whole = std::max(shape.input, shape.output);
  const std::uint64_t part = (whole + ranks - 1) / ranks * width;
  const double rounds = shape.kind == CollectiveKind::all_reduce ? 2 : 1;
  const double messages = rounds * static_cast<double>(ranks - 1);
  const auto bytes = static_cast<double>(predict::tcp_link_bytes(part, setting.framing));
  return {seconds_of(messages * link_s(bytes, setting)), seconds_of(messages * hop_s(setting))};
}

// Returns the bytes that a rank's link carries in its busier direction, for all transfers together.
double sums_bytes(const Setting& setting, const CallShape& shape) {
  double bytes = 0;
  for (const core::TransferRequest& transfer : transfers_of(shape, setting)) {
    if (transfer.elements == 0) continue;
    bytes += static_cast<double>(
        predict::passage_of(transfer.layout, transfer.elements, setting.framing).link_bytes);
  }
  return bytes;
}

}  // namespace

Cost cost_of(const Setting& setting, const CallShape& shape) {
  if (setting.place == Place::nowhere) return {};
  if (setting.place == Place::ring) return ring_cost(setting, shape);
  double bytes = sums_bytes(setting, shape);
  // A rank sends the others their shares, and sends the sum of its own share to all others.
  if (setting.place == Place::workers) bytes *= 2.0 * (setting.ranks - 1) / setting.ranks;
  const double hops = setting.place == Place::workers ? 2 : 1;
  return {seconds_of(link_s(bytes, setting)), seconds_of(hops * hop_s(setting))};
}

FormulaCalls::FormulaCalls(const Setting& setting, const Groups& groups) : links_(setting.ranks) {
  for (const Group& group : groups) {
    GroupState& state = groups_.emplace_back();
    state.setting = setting;
    state.setting.ranks = group.size();
  }
}

void FormulaCalls::begin(base::Instant now, const RankCall& call, const CallShape& shape) {
  GroupState& group = groups_[call.group];
  const std::size_t number = group.made[call.rank]++;
  if (number >= group.calls.size()) group.calls.push_back({shape, {}});
  Made& made = group.calls[number];
  is_broken_ = is_broken_ || made.shape != shape;
  made.by.push_back(call);
  if (made.by.size() < group.setting.ranks || is_broken_) return;
  const Cost cost = cost_of(group.setting, shape);
  for (const RankCall& each : made.by) forget(now, links_[each.rank]);
  const base::Instant begin = first_free(std::max(now, group.links_free_at), cost.links, made.by);
  group.links_free_at = begin + cost.links;
  if (cost.links.ns > 0) {
    for (const RankCall& each : made.by) links_[each.rank].emplace(begin, group.links_free_at);
  }
  group.last_ends_at = std::max(group.last_ends_at, group.links_free_at + cost.latency);
  moving_.emplace(group.last_ends_at, std::move(made.by));
}

void FormulaCalls::forget(base::Instant now, Busy& busy) {
  while (!busy.empty() && busy.begin()->second <= now) busy.erase(busy.begin());
}

base::Instant FormulaCalls::first_free(base::Instant begin, base::Duration length,
                                       const std::vector<RankCall>& calls) const {
  for (bool is_free = false; !is_free;) {
    is_free = true;
    for (const RankCall& call : calls) {
      for (const auto& [from, to] : links_[call.rank]) {
        if (from >= begin + length) break;
        if (to <= begin) continue;
        begin = to;
        is_free = false;
      }
    }
  }
  return begin;
}

base::Instant FormulaCalls::run(base::Instant limit, std::vector<RankCall>& ended) {
  if (is_broken_) return base::Instant::never();
  if (moving_.empty() || moving_.begin()->first > limit) return limit;
  const auto first = moving_.extract(moving_.begin());
  ended.insert(ended.end(), first.mapped().begin(), first.mapped().end());
  return first.key();
}

}  // namespace infold::whatif
