// SPDX-License-Identifier: Apache-2.0
//
// Writes and reads the bodies of PENDING, ABORT and ABORTED.
#include <algorithm>

#include "base/check.h"
#include "core/packet/packet.h"
#include "core/stripe.h"

namespace infold::core {
namespace {

void write_signature(const ChunkSignature& signature, std::uint8_t* out) {
  const infold_be16 elements = infold_to_be16(signature.elements);
  const infold_be32 shape = infold_to_be32(signature.shape);
  std::memcpy(out, &elements, 2);
  out[2] = signature.format;
  out[3] = signature.operation;
  std::memcpy(out + 4, &shape, 4);
}

ChunkSignature read_signature(const std::uint8_t* in) {
  infold_be16 elements;
  infold_be32 shape;
  std::memcpy(&elements, in, 2);
  std::memcpy(&shape, in + 4, 4);
  return {infold_from_be16(elements), in[2], in[3], infold_from_be32(shape)};
}

RankRange range_at(const Packet& packet, std::uint32_t index) {
  infold_rank_range wire;
  std::memcpy(&wire, packet.body.data() + index * sizeof(wire), sizeof(wire));
  return {infold_from_be16(wire.first), infold_from_be16(wire.count)};
}

bool bit_at(std::span<const std::byte> bits, std::size_t rank) {
  return rank / 8 < bits.size() && (bits[rank / 8] >> (rank % 8) & std::byte{1}) != std::byte{0};
}

std::size_t write_bits(std::span<const RankRange> missing, std::uint32_t world, std::byte* out) {
  const std::size_t bytes = std::min<std::size_t>((world + 31) / 32 * 4, INFOLD_PENDING_BYTES_MAX);
  std::fill_n(out, bytes, std::byte{0});
  for (const RankRange& range : missing) {
    const std::size_t end =
        std::min<std::size_t>(range.first + std::size_t{range.count}, 8 * bytes);
    for (std::size_t rank = range.first; rank < end; ++rank) {
      out[rank / 8] |= std::byte{1} << (rank % 8);
    }
  }
  return bytes;
}

std::size_t write_ranges(std::span<const RankRange> missing, std::byte* out) {
  RankRanges ranges;
  for (const RankRange& range : missing) ranges.append(range);
  for (std::uint32_t i = 0; i < ranges.count; ++i) {
    const infold_rank_range wire = {infold_to_be16(ranges.range[i].first),
                                    infold_to_be16(ranges.range[i].count)};
    std::memcpy(out + i * sizeof(wire), &wire, sizeof(wire));
  }
  return ranges.count * sizeof(infold_rank_range);
}

}  // namespace

const RankRange* find_range(std::span<const RankRange> ranges, std::uint32_t rank) {
  const auto place = std::find_if(ranges.begin(), ranges.end(),
                                  [rank](RankRange each) { return contains(each, rank); });
  return place == ranges.end() ? nullptr : &*place;
}

bool RankRanges::contains(std::uint16_t rank) const {
  for (std::uint32_t i = 0; i < count; ++i) {
    if (rank >= range[i].first && rank - range[i].first < range[i].count) return true;
  }
  return false;
}

void RankRanges::append(RankRange next) {
  if (count > 0 && range[count - 1].first + range[count - 1].count == next.first) {
    range[count - 1].count = static_cast<std::uint16_t>(range[count - 1].count + next.count);
  } else if (count < INFOLD_PENDING_RANGES_MAX) {
    range[count++] = next;
  }
}

PendingForm form_of(PendingForm form, std::span<const RankRange> missing) {
  if (form != PendingForm::either) return form;
  std::uint32_t ranges = 0;
  std::uint32_t end = 0;
  for (const RankRange& range : missing) {
    if (ranges == 0 || range.first != end) ++ranges;
    end = std::uint32_t{range.first} + range.count;
  }
  const bool fits = ranges <= INFOLD_PENDING_RANGES_MAX || end > 8 * INFOLD_PENDING_BYTES_MAX;
  return fits ? PendingForm::ranges : PendingForm::bits;
}

std::size_t write_missing(std::span<const RankRange> missing, PendingForm form, std::uint32_t world,
                          std::byte* out) {
  CHECK(form != PendingForm::either);
  return form == PendingForm::bits ? write_bits(missing, world, out) : write_ranges(missing, out);
}

std::optional<RankRanges> read_missing(const Packet& packet, std::uint32_t world) {
  RankRanges ranges;
  if ((packet.header.flags & INFOLD_FLAG_BITS) == 0) {
    const auto count = static_cast<std::uint32_t>(packet.body.size() / sizeof(infold_rank_range));
    for (std::uint32_t i = 0; i < count; ++i) {
      const RankRange range = range_at(packet, i);
      if (range.count == 0 || std::uint32_t{range.first} + range.count > world) return std::nullopt;
      ranges.append(range);
    }
    return ranges;
  }
  for (std::size_t rank = 0; rank < 8 * packet.body.size(); ++rank) {
    if (!bit_at(packet.body, rank)) continue;
    if (rank >= world) return std::nullopt;
    ranges.append({static_cast<std::uint16_t>(rank), 1});
  }
  return ranges;
}

Presence presence_in(const Packet& packet, std::uint16_t rank) {
  if ((packet.header.flags & INFOLD_FLAG_BITS) != 0) {
    return bit_at(packet.body, rank) ? Presence::missing : Presence::there;
  }
  const auto count = static_cast<std::uint32_t>(packet.body.size() / sizeof(infold_rank_range));
  bool may_be_cut = count >= INFOLD_PENDING_RANGES_MAX;
  for (std::uint32_t i = 0; i < count; ++i) {
    const RankRange range = range_at(packet, i);
    if (infold::core::contains(range, rank)) return Presence::missing;
    if (rank < range.first) may_be_cut = false;
  }
  return may_be_cut ? Presence::not_said : Presence::there;
}

void write_abort(const Abort& abort, std::byte* out) {
  infold_abort wire = {};
  wire.reason = infold_to_be16(static_cast<std::uint16_t>(abort.reason));
  wire.rank = infold_to_be16(abort.rank);
  wire.other = infold_to_be16(abort.other);
  write_signature(abort.rank_signature, wire.rank_signature);
  write_signature(abort.other_signature, wire.other_signature);
  std::memcpy(out, &wire, sizeof(wire));
}

std::optional<Abort> read_abort(std::span<const std::byte> body) {
  infold_abort wire;
  if (body.size() != sizeof(wire)) return std::nullopt;
  std::memcpy(&wire, body.data(), sizeof(wire));
  const std::uint16_t reason = infold_from_be16(wire.reason);
  if (reason == 0 || reason >= INFOLD_ABORT_REASON_COUNT) return std::nullopt;
  if (wire.reserved.wire != 0) return std::nullopt;
  return Abort{static_cast<AbortReason>(reason), infold_from_be16(wire.rank),
               infold_from_be16(wire.other), read_signature(wire.rank_signature),
               read_signature(wire.other_signature)};
}

bool names_members(const Abort& abort, std::uint32_t world) {
  const std::uint32_t others = abort.reason == AbortReason::stopped ? Stripe::kSitesMax : world;
  return abort.rank < world && abort.other < others;
}

}  // namespace infold::core
