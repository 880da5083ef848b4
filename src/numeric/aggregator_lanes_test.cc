// SPDX-License-Identifier: Apache-2.0
//
// An aggregator keeps lanes as narrow as it can, but its answers must not depend on that. The test
// compares answers, byte for byte, with a model that adds all contributions at the end in 64-bit
// lanes. Exponents come in any order, and lie just within and just beyond what lanes of each width
// hold.
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <vector>

#include <gtest/gtest.h>

#include "base/prng.h"
#include "core/aggregator/aggregator.h"
#include "numeric/codec.h"

namespace infold::numeric {
namespace {

using core::ElementLayout;
using core::Header;
using core::Kind;
using core::WireFormat;
using Bytes = std::vector<std::byte>;

struct Case {
  ElementLayout layout;
  std::uint32_t elements = 0;
  std::uint16_t workers = 1;
  bool has_parent = false;

  std::uint32_t blocks() const { return layout.block_count(elements); }
};

// One worker's contribution: the codes of its blocks, its numbers, and which elements are
// infinities or NaN.
struct Contribution {
  Kind kind = Kind::add;
  std::vector<std::uint16_t> low;
  std::vector<std::uint16_t> high;
  std::vector<std::int64_t> numbers;
  std::vector<bool> plus;
  std::vector<bool> minus;
  bool has_specials = false;
};

std::int64_t special_code(ElementLayout layout, bool plus, bool minus) {
  if (plus && minus) return layout.code_nan();
  return plus ? layout.code_plus_infinity() : layout.code_minus_infinity();
}

void set_bit(std::byte* set, std::size_t bit) {
  set[bit / 8] |= static_cast<std::byte>(1U << (bit % 8));
}

// Returns the body of an ADD, PARTIAL or RESULT.
Bytes body_of(const Case& test, const Contribution& from) {
  const ElementLayout layout = test.layout;
  const bool is_partial = from.kind == Kind::partial;
  Bytes body(core::datagram_bytes(from.kind, layout, test.elements, from.has_specials) -
             INFOLD_HEADER_BYTES);
  core::write_codes(layout, from.low.data(), test.blocks(), body.data());
  std::byte* elements = body.data() + layout.exponent_bytes(test.elements);
  if (is_partial) {
    core::write_codes(layout, from.high.data(), test.blocks(),
                      body.data() + test.blocks() * layout.exponent_code_bytes());
    elements = body.data() + layout.partial_exponent_bytes(test.elements);
  }
  const std::size_t width = is_partial ? 8 : layout.element_bytes();
  std::byte* const sets = elements + test.elements * width;
  for (std::size_t i = 0; i < test.elements; ++i) {
    const bool special = from.plus[i] || from.minus[i];
    const std::int64_t number = special && !is_partial
                                    ? special_code(layout, from.plus[i], from.minus[i])
                                    : from.numbers[i];
    std::memcpy(elements + i * width, &number, width);
    if (is_partial && from.plus[i]) set_bit(sets, i);
    if (is_partial && from.minus[i]) set_bit(sets + (test.elements + 63) / 64 * 8, i);
  }
  return body;
}

Bytes datagram_of(Header header, const Bytes& body) {
  Bytes datagram(INFOLD_HEADER_BYTES + body.size());
  core::write_header(header, datagram);
  std::copy(body.begin(), body.end(), datagram.begin() + INFOLD_HEADER_BYTES);
  return datagram;
}

Header header_of(const Case& test, std::uint16_t worker, std::uint32_t round,
                 const Contribution& from) {
  Header header;
  header.kind = from.kind;
  header.flags = from.has_specials ? INFOLD_FLAG_SPECIALS : 0;
  header.worker = static_cast<std::uint8_t>(worker);
  header.round = round;
  header.signature.elements = static_cast<std::uint16_t>(test.elements);
  header.signature.format = static_cast<std::uint8_t>(
      static_cast<unsigned>(test.layout.dtype) << 4 | static_cast<unsigned>(test.layout.format));
  header.contributors = {1, 1, core::rank_digest(worker)};
  return header;
}

// Returns the sum of all contributions in the form of a partial sum. Its kind is overrange if the
// sum would not be exact.
Contribution model_sum(const Case& test, const std::vector<Contribution>& all) {
  Contribution sum = {Kind::partial, {}, {}, {}, {}, {}, false};
  sum.low.resize(test.blocks());
  sum.high.resize(test.blocks());
  sum.numbers.resize(test.elements);
  sum.plus.resize(test.elements);
  sum.minus.resize(test.elements);
  for (const Contribution& one : all) {
    for (std::size_t block = 0; block < test.blocks(); ++block) {
      if (one.low[block] == 0) continue;
      const std::uint16_t low = sum.low[block];
      sum.low[block] = low == 0 ? one.low[block] : std::min(low, one.low[block]);
      sum.high[block] = std::max(sum.high[block], one.high[block]);
    }
  }
  const std::int32_t spread = core::exponent_spread_max(test.layout, test.workers);
  for (std::size_t block = 0; block < test.blocks(); ++block) {
    if (sum.high[block] - sum.low[block] > spread) sum.kind = Kind::overrange;
  }
  if (sum.kind == Kind::overrange) return sum;
  for (const Contribution& one : all) {
    sum.has_specials = sum.has_specials || one.has_specials;
    for (std::size_t i = 0; i < test.elements; ++i) {
      const std::size_t block = i / test.layout.block_elements();
      if (one.plus[i]) sum.plus[i] = true;
      if (one.minus[i]) sum.minus[i] = true;
      if (one.plus[i] || one.minus[i] || one.low[block] == 0) continue;
      sum.numbers[i] += one.numbers[i] * (std::int64_t{1} << (one.low[block] - sum.low[block]));
    }
  }
  return sum;
}

struct Answer {
  Kind kind = Kind::result;
  bool has_specials = false;
  Bytes body;
};

Answer model_answer(const Case& test, const std::vector<Contribution>& all) {
  Contribution sum = model_sum(test, all);
  const ElementLayout layout = test.layout;
  if (sum.kind == Kind::overrange) {
    Bytes codes(layout.exponent_bytes(test.elements));
    core::write_codes(layout, sum.high.data(), test.blocks(), codes.data());
    return {test.has_parent ? Kind::overrange : Kind::realign, false, codes};
  }
  if (test.has_parent) return {Kind::partial, sum.has_specials, body_of(test, sum)};

  Bytes mantissas(test.elements * layout.element_bytes());
  std::vector<std::uint16_t> codes(test.blocks());
  const auto& encode = core::scalar_arithmetic().encode[core::lane_index(core::LaneWidth::bits64)];
  const bool overflowed = encode[core::mantissa_index(layout.format)](
      reinterpret_cast<const std::byte*>(sum.numbers.data()), test.elements, layout, sum.low.data(),
      codes.data(), mantissas.data());
  sum.kind = Kind::result;
  sum.has_specials = sum.has_specials || overflowed;
  sum.low = codes;
  for (std::size_t i = 0; i < test.elements; ++i) {
    const std::size_t width = layout.element_bytes();
    std::int64_t mantissa = 0;
    std::memcpy(&mantissa, &mantissas[i * width], width);
    sum.numbers[i] = mantissa;
  }
  return {Kind::result, sum.has_specials, body_of(test, sum)};
}

// Returns the spread of exponents for which lanes of this width are exact.
std::int32_t spread_of(const Case& test, std::uint32_t lane_bits) {
  return core::exponent_spread_max(test.layout, test.workers) - 64 +
         static_cast<std::int32_t>(lane_bits);
}

// Draws a contribution whose codes lie at most `reach` below `top`.
Contribution draw(const Case& test, std::int32_t top, std::int32_t reach, base::Prng& prng) {
  Contribution one;
  one.kind = prng.below(24) == 0 ? Kind::partial : Kind::add;
  one.has_specials = prng.below(4) == 0;
  one.numbers.resize(test.elements);
  one.plus.resize(test.elements);
  one.minus.resize(test.elements);
  const auto first = static_cast<std::uint32_t>(top - reach);
  const auto span = static_cast<std::uint32_t>(std::max(reach, 0)) + 1;
  const std::uint64_t ends = prng.below(2);
  for (std::size_t block = 0; block < test.blocks(); ++block) {
    const std::uint64_t above = ends == 0 ? prng.below(2) * (span - 1) : prng.below(span);
    const std::uint64_t code = prng.below(8) == 0 ? 0 : first + above;
    one.low.push_back(static_cast<std::uint16_t>(code));
  }
  one.high = one.low;
  // Most contributions have only the largest magnitude that a packet can carry, so that their sum
  // fills lanes to the last bit.
  const std::int64_t extreme = -test.layout.mantissa_limit() - 2;
  const bool is_extreme = !one.has_specials && prng.below(4) != 0;
  for (std::size_t i = 0; i < test.elements; ++i) {
    const auto bits = static_cast<std::int64_t>(prng.next());
    one.numbers[i] = is_extreme ? extreme : bits >> (63 - test.layout.mantissa_top_bit());
    if (!one.has_specials || prng.below(16) != 0) continue;
    one.plus[i] = prng.below(2) == 0;
    one.minus[i] = prng.below(2) == 0;
    if (one.plus[i] || one.minus[i]) one.numbers[i] = 0;
  }
  return one;
}

void expect_as_modelled(const KernelSet& set, const Case& test, base::Prng& prng) {
  core::AggregatorOptions options;
  options.world = test.workers;
  options.datagram_bytes_max = 9000;
  options.arithmetic = set.arithmetic;
  if (test.has_parent) options.parent_worker = 0;
  for (std::uint16_t rank = 0; rank < test.workers; ++rank) options.add_aggregator({rank, 1});
  core::Aggregator aggregator(options);
  for (std::uint32_t round = 1; round <= 8; ++round) {
    const std::int32_t edges[] = {0, 3, spread_of(test, 16), spread_of(test, 32),
                                  spread_of(test, 64)};
    const std::int32_t edge = edges[prng.below(std::size(edges))];
    const std::int32_t reach = std::max(edge, 0) + static_cast<std::int32_t>(prng.below(2));
    const std::int32_t code_max = test.layout.exponent_code_max();
    const std::int32_t top =
        prng.below(3) == 0 ? code_max : reach + 1 + static_cast<std::int32_t>(prng.below(120));
    std::vector<Contribution> all;
    std::vector<std::byte> sent;
    for (std::uint16_t rank = 0; rank < test.workers; ++rank) {
      all.push_back(draw(test, top, prng.below(3) == 0 ? reach : 0, prng));
      aggregator.handle_datagram(
          datagram_of(header_of(test, rank, round, all.back()), body_of(test, all.back())));
      while (const auto transmit = aggregator.poll_transmit()) {
        sent.assign(transmit->datagram.begin(), transmit->datagram.end());
      }
    }
    core::Packet packet;
    ASSERT_EQ(core::parse(sent, packet), core::Malformed::none);
    const Answer expected = model_answer(test, all);
    ASSERT_EQ(packet.header.kind, expected.kind) << set.name << " reach " << reach;
    ASSERT_EQ(packet.has_specials(), expected.has_specials) << set.name;
    ASSERT_TRUE(std::equal(packet.body.begin(), packet.body.end(), expected.body.begin(),
                           expected.body.end()))
        << set.name << " reach " << reach << " workers " << test.workers;
    if (!test.has_parent) continue;
    Contribution answer = all.back();  // any answer from the parent lets the slot continue
    answer.kind = Kind::result;
    answer.has_specials = false;
    aggregator.handle_datagram(
        datagram_of(header_of(test, 0, round, answer), body_of(test, answer)));
  }
}

TEST(AggregatorLanes, AnswersDoNotDependOnTheWidthOfLanes) {
  base::Prng prng(32);
  for (const KernelSet& set : supported_kernels()) {
    for (const WireFormat format : {WireFormat::bfp8, WireFormat::bfp16, WireFormat::bfp32}) {
      for (const core::DataType dtype : {core::DataType::f32, core::DataType::f64}) {
        for (const auto workers : std::initializer_list<std::uint16_t>{1, 2, 3, 8, 40, 256}) {
          const auto elements = static_cast<std::uint32_t>(1 + prng.below(700));
          expect_as_modelled(set, {{format, dtype}, elements, workers, false}, prng);
          expect_as_modelled(set, {{format, dtype}, elements, workers, true}, prng);
          if (HasFatalFailure()) return;
        }
      }
    }
  }
}

}  // namespace
}  // namespace infold::numeric
