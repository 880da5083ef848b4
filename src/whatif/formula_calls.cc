// SPDX-License-Identifier: Apache-2.0
#include "whatif/formula_calls.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "codec/format_choice.h"
#include "whatif/transfers.h"

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

// One way between two hosts.
double hop_s(const Setting& setting) { return static_cast<double>(setting.round_trip.ns) / 2e9; }

// Messages of a part each go round: of a sum all parts twice, else once. What one rank tells all
// goes down a tree.
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

// What a rank's link carries in its busier direction: of all transfers together.
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
  // A rank sends the others their shares, and the sum of its own share to all others.
  if (setting.place == Place::workers) bytes *= 2.0 * (setting.ranks - 1) / setting.ranks;
  const double hops = setting.place == Place::workers ? 2 : 1;
  return {seconds_of(link_s(bytes, setting)), seconds_of(hops * hop_s(setting))};
}

void FormulaCalls::begin(base::Instant now, std::uint16_t rank, const CallShape& shape) {
  const std::uint32_t call = made_[rank]++;
  if (call >= calls_.size()) calls_.push_back({shape});
  is_broken_ = is_broken_ || calls_[call].shape != shape;
  if (++calls_[call].ranks < setting_.ranks || is_broken_) return;
  const Cost cost = cost_of(setting_, shape);
  links_free_at_ = std::max(links_free_at_, now) + cost.links;
  const base::Instant before = moving_.empty() ? now : moving_.back().ends_at;
  moving_.push({call, std::max(before, links_free_at_ + cost.latency)});
}

base::Instant FormulaCalls::run(base::Instant limit, std::vector<Ended>& ended) {
  if (is_broken_) return base::Instant::never();
  if (moving_.empty() || moving_.front().ends_at > limit) return limit;
  const Moving first = moving_.front();
  moving_.pop();
  for (std::uint16_t rank = 0; rank < setting_.ranks; ++rank) ended.push_back({rank, first.call});
  return first.ends_at;
}

}  // namespace infold::whatif
