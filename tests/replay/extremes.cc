// SPDX-License-Identifier: Apache-2.0
//
// Replays chunks of every format whose bodies have the extreme values of their fields. Honest ranks
// do not send such bodies, so no simulation has them. Both planes must still give the same answers.
#include <algorithm>
#include <cstring>
#include <limits>

#include "core/packet/packet.h"
#include "tests/replay/replay.h"

namespace infold::replay {
namespace {

using core::Kind;

std::uint64_t extreme_bits(base::Prng& prng) {
  switch (prng.below(6)) {
    case 0: return 0;
    case 1: return std::uint64_t{1} << 63;
    case 2: return (std::uint64_t{1} << 63) - 1;
    case 3: return ~std::uint64_t{0};
    // Any magnitude: a random word after a random shift, sign kept or not.
    case 4: return prng.next() >> prng.below(64);
    default:
      return static_cast<std::uint64_t>(static_cast<std::int64_t>(prng.next()) >> prng.below(64));
  }
}

// The kernel sums native floats of three types, in jobs without a parent.
core::ElementLayout draw_layout(bool has_parent, base::Prng& prng) {
  static constexpr core::DataType kFloats[] = {core::DataType::f32, core::DataType::f16,
                                               core::DataType::bf16, core::DataType::f64};
  const std::uint64_t formats = INFOLD_FORMAT_NATIVE + (has_parent ? 0U : 1U);
  const auto format = static_cast<core::WireFormat>(prng.below(formats));
  core::ElementLayout layout{format, core::DataType::i32};
  if (layout.is_block_float()) layout.dtype = kFloats[prng.below(4)];
  if (layout.is_native()) layout.dtype = kFloats[prng.below(3)];
  return layout;
}

// Draws codes near each other, near the largest, or anywhere. Some blocks are empty.
std::uint16_t draw_code(core::ElementLayout layout, std::uint64_t style, base::Prng& prng) {
  const auto most = static_cast<std::uint64_t>(layout.exponent_code_max());
  if (prng.chance(0.1)) return 0;
  if (style == 0) return static_cast<std::uint16_t>(1 + prng.below(4));
  if (style == 1) return static_cast<std::uint16_t>(most - prng.below(20));
  if (style == 2) return static_cast<std::uint16_t>(most / 2 + prng.below(24));
  return static_cast<std::uint16_t>(prng.below(most + 1));
}

struct Chunk {
  core::Header header;  // the fields that all contributions share
  std::uint64_t code_style = 0;
  double zeros = 0;  // probability of zeros, so that a block's largest may be alone
};

std::vector<std::byte> contribution(const Chunk& chunk, Kind kind, std::uint8_t worker,
                                    base::Prng& prng) {
  core::Header header = chunk.header;
  const core::ElementLayout layout = header.signature.layout();
  const std::uint32_t elements = header.signature.elements;
  const bool specials = layout.is_block_float() && prng.chance(0.4);
  header.kind = kind;
  header.worker = worker;
  if (specials) header.flags = INFOLD_FLAG_SPECIALS;
  header.contributors = {1, 1, core::rank_digest(worker)};
  if (kind == Kind::skip || kind == Kind::query) header.contributors = {};
  std::vector<std::byte> datagram(core::datagram_bytes(kind, layout, elements, specials));
  for (std::size_t at = INFOLD_HEADER_BYTES; at < datagram.size(); at += 8) {
    const std::uint64_t bits = prng.chance(chunk.zeros) ? 0 : extreme_bits(prng);
    std::memcpy(&datagram[at], &bits, std::min<std::size_t>(8, datagram.size() - at));
  }
  // Now and then every element has an extreme value of its own width.
  if (prng.chance(0.3) && kind == Kind::add) {
    const std::uint32_t width = layout.element_bytes();
    std::byte* const first =
        datagram.data() + INFOLD_HEADER_BYTES + layout.exponent_bytes(elements);
    for (std::uint32_t i = 0; i < elements; ++i) {
      const std::uint64_t bits = (std::uint64_t{1} << (8 * width - 1)) - prng.below(4) + 1;
      std::memcpy(first + std::size_t{i} * width, &bits, width);
    }
  }
  const bool is_partial = kind == Kind::partial;
  if (layout.is_block_float() && (is_partial || kind == Kind::add || kind == Kind::overrange)) {
    const std::uint32_t blocks = layout.block_count(elements);
    std::vector<std::uint16_t> codes(blocks * (is_partial ? 2U : 1U));
    for (std::uint16_t& code : codes) code = draw_code(layout, chunk.code_style, prng);
    core::write_codes(layout, codes.data(), static_cast<std::uint32_t>(codes.size()),
                      datagram.data() + INFOLD_HEADER_BYTES);
  }
  core::write_header(header, datagram);
  return datagram;
}

Kind draw_kind(core::ElementLayout layout, base::Prng& prng) {
  const std::uint64_t choice = prng.below(20);
  if (choice == 0) return Kind::skip;
  if (choice == 1) return Kind::query;
  if (!layout.is_block_float()) return Kind::add;
  if (choice == 2) return Kind::overrange;
  return choice < 9 ? Kind::partial : Kind::add;
}

}  // namespace

std::string replay_extremes(std::uint64_t seed, conformance::XdpPlane& plane,
                            ReplayCounters& counters) {
  base::Prng prng(seed);
  SideBySide both(plane, counters);
  core::AggregatorOptions options;
  options.job = 7;
  options.epoch = 3;
  options.slot_count = 1;
  options.datagram_bytes_max = prng.chance(0.5) ? 1472 : INFOLD_XDP_DATAGRAM_BYTES_MAX;
  const auto workers = static_cast<std::uint16_t>(1 + prng.below(4));
  for (std::uint16_t rank = 0; rank < workers; ++rank) options.add_aggregator({rank, 1});
  options.world = workers;
  if (prng.chance(0.3)) options.parent_worker = std::uint8_t{1};
  both.add(options);

  for (std::uint32_t round = 1; round <= 6 && both.difference().empty(); ++round) {
    Chunk chunk;
    const core::ElementLayout layout = draw_layout(options.parent_worker.has_value(), prng);
    chunk.code_style = prng.below(4);
    chunk.zeros = prng.chance(0.3) ? 0.95 : 0;
    chunk.header.job = options.job;
    chunk.header.epoch = options.epoch;
    chunk.header.round = round;
    chunk.header.signature.format = static_cast<std::uint8_t>(
        static_cast<unsigned>(layout.dtype) << 4 | static_cast<unsigned>(layout.format));
    const bool averages = layout.is_native() && prng.chance(0.5);
    const bool orders = !layout.is_block_float() && !layout.is_native() && prng.chance(0.5);
    chunk.header.signature.operation = static_cast<std::uint8_t>(
        averages ? int{INFOLD_REDUCTION_AVERAGE}
                 : INFOLD_REDUCTION_SUM + (orders ? INFOLD_REDUCTION_MIN + prng.below(3) : 0));
    // A fifth of the chunks have a drawn number of elements. The others are full packets.
    const core::ChunkLimits limits = {.datagram_bytes_max = options.datagram_bytes_max,
                                      .elements_max = INFOLD_XDP_ELEMENTS_MAX,
                                      .tree = true};
    const std::uint32_t most = core::chunk_elements(layout, limits);
    chunk.header.signature.elements = static_cast<std::uint16_t>(
        prng.chance(0.2) ? prng.below(most + 1) : most - prng.below(std::min(most, 3U)));
    for (std::uint8_t worker = 0; worker < workers; ++worker) {
      for (Kind kind = Kind::query; kind == Kind::query;) {
        kind = draw_kind(layout, prng);
        both.deliver(contribution(chunk, kind, worker, prng));
      }
    }
    if (!options.parent_worker) continue;
    // Any answer serves here: it must reach the workers unchanged.
    both.deliver(contribution(chunk, Kind::result, 1, prng));
  }
  return both.difference();
}

}  // namespace infold::replay
