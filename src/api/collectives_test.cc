// SPDX-License-Identifier: Apache-2.0
//
// Tests every collective, type, operation, wire format and topology against sums in closed form.

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <vector>

#include "api/testing.h"

namespace infold {
namespace {

using testing::expect_done;
using testing::make_group;
using testing::on_every_rank;

// Small integers, which are exact in every type: element i of rank r is 1 + (i + 3 r) % 5.
int number(std::size_t i, int rank) {
  return 1 + static_cast<int>((i + 3 * static_cast<std::size_t>(rank)) % 5);
}

int expected_number(std::size_t i, int world, Reduction reduction) {
  int sum = 0;
  int least = number(i, 0);
  int most = number(i, 0);
  int bits = 0;
  for (int rank = 0; rank < world; ++rank) {
    sum += number(i, rank);
    least = std::min(least, number(i, rank));
    most = std::max(most, number(i, rank));
    bits |= number(i, rank);
  }
  if (reduction == Reduction::min) return least;
  if (reduction == Reduction::max) return most;
  if (reduction == Reduction::bit_or) return bits;
  return sum;
}

template <typename T>
T from_number(int value) {
  return static_cast<T>(value);
}
template <>
f16 from_number<f16>(int value) {
  if (value == 0) return {};
  const int exponent = std::ilogb(value);
  return {static_cast<std::uint16_t>((exponent + 15) << 10 | ((value << 10) >> exponent & 0x3FF))};
}
template <>
bf16 from_number<bf16>(int value) {
  const auto exact = static_cast<float>(value);
  std::uint32_t bits = 0;
  std::memcpy(&bits, &exact, sizeof(bits));
  return {static_cast<std::uint16_t>(bits >> 16)};
}

template <typename T>
std::vector<T> numbers(std::size_t count, int rank) {
  std::vector<T> tensor(count);
  for (std::size_t i = 0; i < count; ++i) tensor[i] = from_number<T>(number(i, rank));
  return tensor;
}

template <typename T>
std::vector<T> expected(std::size_t count, int world, Reduction reduction) {
  std::vector<T> tensor(count);
  for (std::size_t i = 0; i < count; ++i) {
    tensor[i] = from_number<T>(expected_number(i, world, reduction));
  }
  return tensor;
}

constexpr std::size_t kCount = 2000;

template <typename T>
class EveryType : public ::testing::Test {};
using Types = ::testing::Types<float, double, f16, bf16, std::int8_t, std::uint8_t, std::int32_t,
                               std::int64_t>;
TYPED_TEST_SUITE(EveryType, Types);

TYPED_TEST(EveryType, AllReduceGivesTheClosedFormOnWorlds1To8) {
  for (int world = 1; world <= 8; ++world) {
    LocalGroup group = make_group({.world = world});
    on_every_rank(group, [&](Communicator& comm, int rank) {
      for (const Reduction reduction :
           {Reduction::sum, Reduction::min, Reduction::max, Reduction::bit_or}) {
        if (reduction == Reduction::bit_or && !std::is_integral_v<TypeParam>) continue;
        const std::vector<TypeParam> input = numbers<TypeParam>(kCount, rank);
        std::vector<TypeParam> output(kCount);
        expect_done(comm.all_reduce(input, output, {.reduction = reduction}).wait(), world);
        EXPECT_EQ(output, expected<TypeParam>(kCount, world, reduction));
        EXPECT_EQ(input, numbers<TypeParam>(kCount, rank));
      }
    });
  }
}

TYPED_TEST(EveryType, AverageOfEqualNumbersIsThatNumber) {
  LocalGroup group = make_group({.world = 4});
  on_every_rank(group, [&](Communicator& comm, int) {
    std::vector<TypeParam> tensor = numbers<TypeParam>(kCount, 0);
    expect_done(comm.all_reduce(tensor, {.reduction = Reduction::average}).wait(), 4);
    EXPECT_EQ(tensor, numbers<TypeParam>(kCount, 0));
  });
}

TYPED_TEST(EveryType, ReduceChangesTheRootAlone) {
  LocalGroup group = make_group({.world = 3});
  on_every_rank(group, [&](Communicator& comm, int rank) {
    for (int root = 0; root < 3; ++root) {
      std::vector<TypeParam> tensor = numbers<TypeParam>(kCount, rank);
      expect_done(comm.reduce(tensor, tensor, root).wait(), 3);
      EXPECT_EQ(tensor, rank == root ? expected<TypeParam>(kCount, 3, Reduction::sum)
                                     : numbers<TypeParam>(kCount, rank));
    }
  });
}

TYPED_TEST(EveryType, BroadcastCopiesTheRootsBits) {
  LocalGroup group = make_group({.world = 3});
  on_every_rank(group, [&](Communicator& comm, int rank) {
    for (int root = 0; root < 3; ++root) {
      // All bit patterns, including NaNs with payloads.
      std::vector<std::uint8_t> bytes(kCount * sizeof(TypeParam));
      for (std::size_t i = 0; i < bytes.size(); ++i) {
        bytes[i] = static_cast<std::uint8_t>(i * 37 + static_cast<std::size_t>(rank) * 101);
      }
      MutableTensorView view(bytes.data(), kCount, data_type_of<TypeParam>());
      expect_done(comm.broadcast(view, root).wait(), 1);
      for (std::size_t i = 0; i < bytes.size(); ++i) {
        const auto wanted =
            static_cast<std::uint8_t>(i * 37 + static_cast<std::size_t>(root) * 101);
        ASSERT_EQ(bytes[i], wanted) << "byte " << i << " root " << root;
      }
    }
  });
}

template <typename T>
class EveryFloat : public ::testing::Test {};
using Floats = ::testing::Types<float, double, f16, bf16>;
TYPED_TEST_SUITE(EveryFloat, Floats);

TYPED_TEST(EveryFloat, SmallIntegersAreExactInEveryWireFormat) {
  for (const int world : {1, 2, 5, 8}) {
    LocalGroup group = make_group({.world = world});
    on_every_rank(group, [&](Communicator& comm, int) {
      for (const WireFormat wire :
           {WireFormat::bfp32, WireFormat::bfp16, WireFormat::fixed32, WireFormat::digits}) {
        std::vector<TypeParam> tensor = numbers<TypeParam>(kCount, 2);
        expect_done(comm.all_reduce(tensor, {.wire = wire}).wait(), world);
        std::vector<TypeParam> wanted(kCount);
        for (std::size_t i = 0; i < kCount; ++i) {
          wanted[i] = from_number<TypeParam>(number(i, 2) * world);
        }
        EXPECT_EQ(tensor, wanted) << wire_format_name(wire);
      }
    });
  }
}

TEST(Collectives, Bfp8StaysWithinItsBound) {
  LocalGroup group = make_group({.world = 4, .wire = WireFormat::bfp8});
  on_every_rank(group, [&](Communicator& comm, int rank) {
    std::vector<float> tensor = numbers<float>(kCount, rank);
    expect_done(comm.all_reduce(tensor).wait(), 4);
    const std::vector<float> exact = expected<float>(kCount, 4, Reduction::sum);
    // The error is half a unit for each rank and for the sum; a unit is at most 2^-6 of the block's
    // largest element.
    for (std::size_t i = 0; i < kCount; ++i) EXPECT_NEAR(tensor[i], exact[i], 20.0F / 64 * 3);
  });
}

TEST(Collectives, NanAndInfinityComeBackAndLeaveTheirNeighboursAlone) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  LocalGroup group = make_group({.world = 3});
  on_every_rank(group, [&](Communicator& comm, int rank) {
    for (const WireFormat wire : {WireFormat::bfp32, WireFormat::bfp16, WireFormat::bfp8,
                                  WireFormat::fixed32, WireFormat::digits}) {
      std::vector<float> tensor(64, 1.0F);
      if (rank == 0) tensor[3] = std::nanf("");
      if (rank == 1) tensor[7] = kInfinity;
      if (rank == 2) tensor[7] = -kInfinity;
      if (rank == 2) tensor[9] = -kInfinity;
      expect_done(comm.all_reduce(tensor, {.wire = wire}).wait(), 3);
      EXPECT_TRUE(std::isnan(tensor[3]) && std::isnan(tensor[7])) << wire_format_name(wire);
      EXPECT_EQ(tensor[9], -kInfinity);
      for (const std::size_t neighbour : {0U, 2U, 4U, 8U, 10U, 63U}) {
        EXPECT_EQ(tensor[neighbour], 3.0F) << wire_format_name(wire) << " " << neighbour;
      }
    }
  });
}

TEST(Collectives, Fixed32FindsTheLargestExponentBesideASpecialOfAnotherRank) {
  LocalGroup group = make_group({.world = 2});
  on_every_rank(group, [&](Communicator& comm, int rank) {
    // Rank 0 marks the block with a NaN and has small elements otherwise; rank 1 has large elements
    // and no mark.
    std::vector<float> tensor(32, rank == 0 ? 1.0F : 1024.0F);
    if (rank == 0) tensor[0] = std::nanf("");
    expect_done(comm.all_reduce(tensor, {.wire = WireFormat::fixed32}).wait(), 2);
    EXPECT_TRUE(std::isnan(tensor[0]));
    EXPECT_EQ(tensor[1], 1025.0F);
  });
}

TEST(Collectives, Fixed32AgreesAcrossManyChunks) {
  LocalGroup group = make_group({.world = 2, .faults = {.loss = 0.05}});
  on_every_rank(group, [&](Communicator& comm, int rank) {
    std::vector<float> tensor(100'000);
    for (std::size_t i = 0; i < tensor.size(); ++i) {
      tensor[i] = std::ldexp(static_cast<float>(rank + 1), static_cast<int>(i / 32 % 40));
    }
    expect_done(comm.all_reduce(tensor, {.wire = WireFormat::fixed32}).wait(), 2);
    for (std::size_t i = 0; i < tensor.size(); ++i) {
      ASSERT_EQ(tensor[i], std::ldexp(3.0F, static_cast<int>(i / 32 % 40))) << i;
    }
  });
}

TEST(Collectives, IntegersWrap) {
  LocalGroup group = make_group({.world = 2});
  on_every_rank(group, [&](Communicator& comm, int) {
    std::vector<std::uint8_t> tensor(100, 200);
    expect_done(comm.all_reduce(tensor).wait(), 2);
    EXPECT_EQ(tensor, std::vector<std::uint8_t>(100, 144));
  });
}

TEST(Collectives, EmptyTensorsAndBarriersComplete) {
  LocalGroup group = make_group({.world = 3});
  on_every_rank(group, [&](Communicator& comm, int) {
    std::vector<float> empty;
    expect_done(comm.all_reduce(empty).wait(), 3);
    expect_done(comm.all_reduce(empty, {.wire = WireFormat::fixed32}).wait(), 3);
    expect_done(comm.all_reduce(empty, {.wire = WireFormat::digits}).wait(), 3);
    expect_done(comm.broadcast(empty, 1).wait(), 3);
    expect_done(comm.barrier().wait(), 3);
  });
}

// Input and output are separate, or the input is the caller's own part of the output. Sizes range
// from zero over less than a chunk to many chunks.
TEST(Collectives, GatherAndScatterPutEveryRanksPartInItsPlace) {
  constexpr int kWorld = 3;
  LocalGroup group = make_group({.world = kWorld, .faults = {.loss = 0.02}});
  on_every_rank(group, [&](Communicator& comm, int rank) {
    for (const std::size_t part : {std::size_t{0}, std::size_t{5}, std::size_t{50'000}}) {
      const auto own = static_cast<std::size_t>(rank) * part;
      std::vector<float> input(part, static_cast<float>(rank) + 0.1F);
      std::vector<float> gathered(part * kWorld);
      expect_done(comm.all_gather(input, gathered).wait(), kWorld);
      std::vector<float> in_place(part * kWorld);
      std::copy(input.begin(), input.end(), in_place.begin() + static_cast<std::ptrdiff_t>(own));
      expect_done(comm.all_gather(std::span(in_place).subspan(own, part), in_place).wait(), kWorld);
      for (std::size_t i = 0; i < gathered.size(); ++i) {
        ASSERT_EQ(gathered[i], static_cast<float>(i / part) + 0.1F) << rank << " at " << i;
      }
      EXPECT_EQ(gathered, in_place);

      std::vector<std::int32_t> numbers(part * kWorld), scattered(part);
      for (std::size_t i = 0; i < numbers.size(); ++i) {
        numbers[i] = static_cast<std::int32_t>(i) * (rank + 1);
      }
      expect_done(comm.reduce_scatter(numbers, scattered).wait(), kWorld);
      expect_done(comm.reduce_scatter(numbers, std::span(numbers).subspan(own, part)).wait(),
                  kWorld);
      for (std::size_t i = 0; i < part; ++i) {
        ASSERT_EQ(scattered[i], static_cast<std::int32_t>(own + i) * 6);
        ASSERT_EQ(numbers[own + i], scattered[i]);
      }
    }
  });
}

TEST(Collectives, PartsThatDoNotFitAreRefused) {
  LocalGroup group = make_group({.world = 1});
  std::vector<float> two(2), three(3);
  const auto refused = group[0].all_gather(two, three).wait();
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().message.substr(0, 82),
            "all_gather #1: the input has 2 elements, the output 3; with 1 ranks it must have 2");
}

TEST(Collectives, OutputMayOverlapInputPartly) {
  LocalGroup group = make_group({.world = 2});
  on_every_rank(group, [&](Communicator& comm, int) {
    std::vector<std::int32_t> memory(1500);
    for (std::size_t i = 0; i < memory.size(); ++i) memory[i] = static_cast<std::int32_t>(i);
    const std::span<std::int32_t> all(memory);
    expect_done(comm.all_reduce(all.first(1000), all.subspan(500)).wait(), 2);
    for (std::size_t i = 0; i < 1000; ++i) {
      ASSERT_EQ(memory[500 + i], static_cast<std::int32_t>(2 * i));
    }
  });
}

TEST(Collectives, TensorsMayLieAtAnyAddress) {
  LocalGroup group = make_group({.world = 2});
  on_every_rank(group, [&](Communicator& comm, int) {
    std::vector<std::byte> memory(1001 * sizeof(double) + 1);
    for (const DataType type : {DataType::f32, DataType::f64, DataType::i64, DataType::f16}) {
      MutableTensorView view(memory.data() + 1, 1001, type);
      for (const WireFormat wire :
           {WireFormat::automatic, WireFormat::fixed32, WireFormat::digits}) {
        if (type == DataType::i64 && wire != WireFormat::automatic) continue;
        expect_done(comm.all_reduce(view, {.wire = wire}).wait(), 2);
      }
    }
  });
}

struct Topology {
  const char* name;
  LocalGroupOptions options;
};

class EveryTopology : public ::testing::TestWithParam<Topology> {};

TEST_P(EveryTopology, GivesTheSameBitsAsOneAggregatorWithoutLoss) {
  const auto run = [](const LocalGroupOptions& options) {
    std::vector<std::vector<float>> tensors(static_cast<std::size_t>(options.world));
    LocalGroup group = make_group(options);
    on_every_rank(group, [&](Communicator& comm, int rank) {
      std::vector<float>& tensor = tensors[static_cast<std::size_t>(rank)];
      for (std::size_t i = 0; i < 30'000; ++i) {
        tensor.push_back(std::sin(static_cast<float>(i * 7 + static_cast<std::size_t>(rank))) *
                         std::ldexp(1.0F, static_cast<int>(i % 50) - 25));
      }
      expect_done(comm.all_reduce(tensor).wait(), options.world);
    });
    for (const std::vector<float>& tensor : tensors) EXPECT_EQ(tensor, tensors[0]);
    return tensors[0];
  };
  LocalGroupOptions plain;
  plain.world = GetParam().options.world;
  EXPECT_EQ(run(GetParam().options), run(plain));
}

// One aggregator takes at most 256 workers, and racks allow more ranks.
TEST(ManyRanks, BelowRacksGetExactSums) {
  constexpr int kWorld = 300;
  constexpr std::size_t kElements = 400;
  LocalGroup group =
      make_group({.world = kWorld, .rack_size = 20, .deadline = std::chrono::seconds(120)});
  on_every_rank(group, [](Communicator& comm, int rank) {
    for (const WireFormat wire : {WireFormat::native, WireFormat::bfp32, WireFormat::digits}) {
      std::vector<float> tensor = numbers<float>(kElements, rank);
      expect_done(comm.all_reduce(tensor, {.wire = wire}).wait(), kWorld);
      EXPECT_EQ(tensor, expected<float>(kElements, kWorld, Reduction::sum)) << rank;
    }
    std::vector<std::int32_t> whole = numbers<std::int32_t>(kElements, rank);
    expect_done(comm.all_reduce(whole).wait(), kWorld);
    EXPECT_EQ(whole, expected<std::int32_t>(kElements, kWorld, Reduction::sum)) << rank;
  });
}

INSTANTIATE_TEST_SUITE_P(
    Api, EveryTopology,
    ::testing::Values(
        Topology{"TwoSites", {.world = 4, .site_weights = {1, 1}}},
        Topology{"WeightedSites", {.world = 3, .site_weights = {3, 1, 2}}},
        Topology{"Racks", {.world = 7, .rack_size = 3}},
        Topology{"RacksUnderTwoSites", {.world = 6, .site_weights = {1, 2}, .rack_size = 2}},
        Topology{"LargeMtu", {.world = 4, .mtu_bytes = 9000}},
        Topology{"Loss30",
                 {.world = 4, .faults = {.loss = 0.3}, .deadline = std::chrono::seconds(60)}},
        Topology{"Chaos",
                 {.world = 4,
                  .site_weights = {1, 2},
                  .rack_size = 2,
                  .faults = {.loss = 0.1, .duplication = 0.1, .reordering = 0.2}}}),
    [](const auto& instance) { return instance.param.name; });

}  // namespace
}  // namespace infold
