// SPDX-License-Identifier: Apache-2.0
//
// Decides which packets an aggregator of any kind considers, and which ranks its
// workers speak for.
#include <algorithm>

#include "core/aggregator/aggregator.h"

namespace infold::core {

Contributors contributors_of(RankRange ranks) {
  Contributors all = {ranks.count, ranks.count, 0};
  for (std::uint16_t i = 0; i < ranks.count; ++i) {
    all.digest += rank_digest(static_cast<std::uint16_t>(ranks.first + i));
  }
  return all;
}

bool is_aggregator(const AggregatorOptions& options, std::size_t worker) {
  const auto& alone = options.aggregators_of_one;
  return options.workers[worker].count > 1 ||
         std::find(alone.begin(), alone.end(), worker) != alone.end();
}

Malformed parse_at_aggregator(std::span<const std::byte> datagram, Packet& packet) {
  const Malformed malformed = parse(datagram, packet);
  if (malformed != Malformed::none) return malformed;
  if (packet.is_brief) return Malformed::truncated;
  const bool lacks_some = (packet.header.flags & INFOLD_FLAG_PARTIAL) != 0;
  if (packet.header.kind == Kind::result && lacks_some) return Malformed::flags;
  const bool goes_down_sparse = packet.is_sparse() && travels_down(packet.header.kind);
  return goes_down_sparse ? Malformed::sparse : Malformed::none;
}

std::optional<Verdict> turn_away(const Header& header, Source source,
                                 const AggregatorOptions& options) {
  if (header.job != options.job) return Verdict::dropped_foreign_job;
  if (header.epoch != options.epoch) return Verdict::dropped_stale_epoch;
  if ((header.flags & INFOLD_FLAG_TAGGED) != 0) return Verdict::dropped_tag;
  const bool down = travels_down(header.kind);
  if (down && !options.parent_worker) return Verdict::dropped_wrong_way;
  if (source.side == (down ? Source::Side::below : Source::Side::above)) {
    return Verdict::dropped_wrong_way;
  }
  if (!down && header.worker >= options.workers.size()) return Verdict::dropped_bad_worker;
  if (!down && header.worker != source.worker.value_or(header.worker)) {
    return Verdict::dropped_bad_worker;
  }
  if (!down && source.is_elsewhere) return Verdict::dropped_wrong_source;
  return std::nullopt;
}

}  // namespace infold::core
