// SPDX-License-Identifier: Apache-2.0
//
// Real ranks cannot tell an emulated job from one whose ranks are all real. On links without loss
// they exchange the same datagrams in every shape, bit for bit and at the same times.
#include "plan/messages.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include <gtest/gtest.h>

#include "study/emulate/messages_testing.h"

namespace infold::emulate::testing {
namespace {

using core::DataType;
using core::WireFormat;

join::TransferNote draw_call(std::uint16_t world, base::Prng& prng) {
  constexpr DataType kTypes[] = {DataType::f32, DataType::f16, DataType::bf16, DataType::f64,
                                 DataType::i8,  DataType::u8,  DataType::i32,  DataType::i64};
  constexpr WireFormat kFloats[] = {WireFormat::bfp8, WireFormat::bfp16, WireFormat::bfp32,
                                    WireFormat::native};
  join::TransferNote note;
  note.layout.dtype = kTypes[prng.below(std::size(kTypes))];
  note.layout.format = core::is_float(note.layout.dtype) ? kFloats[prng.below(std::size(kFloats))]
                                                         : core::integer_format(note.layout.dtype);
  note.collective = static_cast<core::Collective>(prng.below(3));
  if (note.collective == core::Collective::broadcast) {
    note.layout.format = core::integer_format(note.layout.dtype);
  }
  note.root = static_cast<std::uint16_t>(prng.below(world));
  const bool is_barrier = note.collective == core::Collective::barrier;
  note.elements = is_barrier ? 0 : 1 + prng.below(prng.chance(0.6) ? 400 : 20'000);
  return note;
}

Case draw(std::uint64_t seed) {
  base::Prng prng(base::mix64(seed));
  Case drawn;
  EmulationOptions& options = drawn.options;
  options.ranks = static_cast<std::uint32_t>(2 + prng.below(15));
  options.real = static_cast<std::uint32_t>(1 + prng.below(std::min(options.ranks - 1, 4U)));
  options.values = Values::generated;
  options.link = {.delay = base::microseconds(10)};
  options.rack_link = {.delay = base::microseconds(3)};
  JobShape& shape = options.shape;
  shape.ranks_sum = prng.chance(0.4);
  shape.weights.clear();
  for (std::uint64_t sites = prng.below(4) + (shape.ranks_sum ? 0 : 1); sites > 0; --sites) {
    shape.weights.push_back(static_cast<std::uint16_t>(1 + prng.below(3)));
  }
  const bool at_switch = !shape.weights.empty() && prng.chance(0.25);
  if (at_switch) {
    options.real_switch = *io::SocketAddress::parse("10.0.0.9:7700", "test");
  } else if (options.ranks > 2 && !shape.weights.empty() && prng.chance(0.6)) {
    const auto racks = static_cast<std::uint32_t>(2 + prng.below(options.ranks / 2));
    shape.racks = even_ranges(options.ranks, racks);
    if (prng.chance(0.3)) shape.racks.erase(shape.racks.begin());  // its ranks join at the root
  }
  EXPECT_EQ(find_fault(shape, options.ranks), std::nullopt) << "seed " << seed;
  join::JobTerms& terms = drawn.terms;
  terms.job = 3;
  terms.epoch = 5;
  terms.world = options.ranks;
  terms.datagram_bytes_max = static_cast<std::uint32_t>(prng.chance(0.5) ? 1472 : 1100);
  terms.elements_max = 8192;
  terms.small_slots = static_cast<std::uint16_t>(1 + prng.below(16));
  terms.bulk_slots = static_cast<std::uint16_t>(1 + prng.below(48));
  terms.racks = shape.racks;
  for (const std::uint16_t weight : shape.weights) {
    terms.sites.push_back({.address = "127.0.0.1:7700", .weight = weight});
  }
  for (std::uint32_t rank = 0; shape.ranks_sum && rank < options.ranks; ++rank) {
    terms.sites.push_back({.address = "127.0.0.1:7701",
                           .weight = static_cast<std::uint32_t>(1 + prng.below(3)),
                           .at_rank = true});
  }
  // Two consecutive emulated ranks may form a host if they are in the same rack or in none.
  for (std::uint32_t first = options.real; first + 1 < options.ranks; ++first) {
    if (shape.ranks_sum || at_switch) break;
    const core::RankRange host = {static_cast<std::uint16_t>(first), 2};
    if (prng.chance(0.5) ||
        core::find_range(terms.racks, first) != core::find_range(terms.racks, first + 1)) {
      continue;
    }
    terms.groups.push_back({host, "here"});
    ++first;
  }
  const std::uint64_t calls = 1 + prng.below(4);
  for (std::uint64_t i = 0; i < calls; ++i) {
    drawn.calls.push_back(draw_call(static_cast<std::uint16_t>(options.ranks), prng));
  }
  return drawn;
}

// Compares the traffic of the only call with the plan's prediction for the links of real ranks and
// of their sites.
void expect_planned(const Case& drawn, const plan::Plan& plan, const Ways& ways) {
  const join::TransferNote& call = drawn.calls.front();
  std::map<std::pair<Party, Way>, std::multiset<std::size_t>> planned;
  for (const plan::Message& each : plan::messages_of(
           plan, {call.collective, call.layout, call.elements, call.root, call.priority})) {
    const plan::Aggregator& above = plan.trees[each.tree].aggregators[each.aggregator];
    const plan::Child& child = above.children[each.child];
    if (!child.is_rank()) continue;
    const Way way = {child.ranks.first, each.tree, each.is_down};
    if (way.rank < drawn.options.real) planned[{Party::rank, way}].insert(each.bytes);
    const std::optional<std::uint16_t> owner = rank_of(plan, each.tree);
    if (owner && *owner < drawn.options.real) planned[{Party::site, way}].insert(each.bytes);
  }
  ASSERT_EQ(planned.size(), ways.size());
  for (const auto& [way, sizes] : planned) ASSERT_EQ(sizes_of(ways.at(way)), sizes);
}

TEST(EmulatedMessages, AreThoseOfRealRanksInEveryShape) {
  std::size_t compared = 0;
  std::size_t of_sites = 0;
  std::size_t past_racks = 0;
  std::size_t at_switch = 0;
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    const Case drawn = draw(seed);
    Beside beside(drawn);
    const Ways emulated = beside.run();
    const sim::Scenario& scenario = beside.job().scenario();
    const Ways real = ways_of_real(drawn, scenario);
    ASSERT_FALSE(real.empty());
    ASSERT_EQ(emulated.size(), real.size()) << "seed " << seed;
    for (const auto& [seen, traffic] : real) {
      const auto& [party, way] = seen;
      ASSERT_TRUE(emulated.at(seen) == traffic)
          << "seed " << seed << ", rank " << way.rank << ", site " << int{way.site}
          << (way.is_down ? ", to the rank" : ", from the rank")
          << (party == Party::site ? ", at the site" : ", at the rank");
      compared += sizes_of(traffic).size();
      if (party != Party::site) continue;
      of_sites += sizes_of(traffic).size();
      at_switch += drawn.options.real_switch.is_set() ? sizes_of(traffic).size() : 0;
      past_racks += drawn.options.shape.racks.empty() ? 0 : sizes_of(traffic).size();
    }
    if (drawn.calls.size() == 1) {
      ASSERT_NO_FATAL_FAILURE(expect_planned(drawn, scenario.plan, emulated)) << "seed " << seed;
    }
  }
  EXPECT_GT(compared, 10'000U);
  EXPECT_GT(of_sites, 5'000U) << "at real ranks that sum";
  EXPECT_GT(past_racks, 1'000U) << "likewise, beside racks";
  EXPECT_GT(at_switch, 1'000U) << "likewise, beside a real switch";
}

// Two sums of a megabyte, over links with a limited rate.
Case on_links(std::int64_t bits_per_second, JobShape shape) {
  Case drawn;
  drawn.options = {.ranks = 8, .real = 2, .values = Values::generated};
  drawn.options.shape = std::move(shape);
  drawn.options.link = {
      .bits_per_second = bits_per_second,
      .delay = base::microseconds(1000),
      .queue_bytes_max = sim::port_queue_bytes(static_cast<double>(bits_per_second))};
  drawn.options.rack_link = drawn.options.link;
  drawn.options.rack_link.bits_per_second *= 10;  // carries the traffic of four ranks
  drawn.terms.racks = drawn.options.shape.racks;
  drawn.terms.job = 3;
  drawn.terms.world = 8;
  drawn.terms.datagram_bytes_max = 1472;
  drawn.terms.elements_max = 8192;
  drawn.terms.small_slots = 64;
  drawn.terms.bulk_slots = 448;
  drawn.terms.sites.assign(drawn.options.shape.weights.size(),
                           {.address = "127.0.0.1:7700", .weight = 1});
  const join::SiteAddress at_rank = {.address = "127.0.0.1:7701", .weight = 1, .at_rank = true};
  if (drawn.options.shape.ranks_sum)
    drawn.terms.sites.resize(drawn.terms.sites.size() + 8, at_rank);
  drawn.calls.assign(2, {.layout = {WireFormat::bfp32, DataType::f32}, .elements = 250'000});
  return drawn;
}

// A real rank's socket does not wait for an emulated link, so its packets wait in the emulator.
TEST(EmulatedMessages, TakeAsLongAsThoseOfRealRanks) {
  const JobShape ranks_sum = {.weights = {}, .ranks_sum = true};
  const JobShape in_racks = {.racks = even_ranges(8, 2), .ranks_sum = true};
  for (const Case& drawn :
       {on_links(20'000'000, {}), on_links(100'000'000, {}), on_links(1'000'000'000, {}),
        on_links(100'000'000, ranks_sum), on_links(100'000'000, in_racks)}) {
    Beside beside(drawn);
    const base::Instant emulated = end_of(beside.run());
    const base::Instant real = end_of(ways_of_real(drawn, beside.job().scenario()));
    EXPECT_NEAR(static_cast<double>(emulated.ns) / static_cast<double>(real.ns), 1, 0.02)
        << drawn.options.link.bits_per_second << " bit/s, "
        << (drawn.options.shape.ranks_sum ? "ranks sum, racks: " : "a switch sums, racks: ")
        << drawn.terms.racks.size();
  }
}

}  // namespace
}  // namespace infold::emulate::testing
