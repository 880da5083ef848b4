// SPDX-License-Identifier: Apache-2.0
//
// Tests ranks that hold the same bits, ranks that do not, and what is reported about them, in a job
// within this process.

#include "rank/divergence.h"

#include <bit>
#include <cmath>
#include <limits>
#include <set>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "api/testing.h"
#include "base/mutex.h"

namespace infold::rank {
namespace {

using ::infold::testing::make_group;
using ::infold::testing::on_every_rank;
using ::testing::ElementsAre;

// Changes each rank's tensor by `change`, and returns what all ranks find, which must be the same.
template <typename T>
std::optional<Divergence> find(int world, std::vector<T> tensor,
                               const std::function<void(int rank, std::vector<T>&)>& change) {
  LocalGroup group = make_group({.world = world, .faults = {.loss = 0.02}});
  struct {
    base::Mutex mutex;
    std::set<std::string> said GUARDED_BY(mutex);
    std::optional<Divergence> first GUARDED_BY(mutex);
  } all;
  on_every_rank(group, [&](Communicator& comm, int rank) {
    std::vector<T> own = tensor;
    change(rank, own);
    const auto found = find_divergence(own, ranks_of(comm));
    const base::MutexLock lock(all.mutex);
    ASSERT_TRUE(found.has_value()) << found.error().message;
    all.said.insert(*found ? describe(**found) : "");
    all.first = *found;
  });
  const base::MutexLock lock(all.mutex);
  EXPECT_EQ(all.said.size(), 1U);
  return all.first;
}

TEST(Divergence, EqualTensorsAgree) {
  for (const std::size_t elements : {0U, 1U, 1000U}) {
    EXPECT_FALSE(find<float>(3, std::vector<float>(elements, 0.1F), [](int, auto&) {}));
  }
  const float nan = std::numeric_limits<float>::quiet_NaN();
  EXPECT_FALSE(find<float>(2, {nan, -0.0F, 1}, [](int, auto&) {}));
}

TEST(Divergence, OneUlpAtOneRankIsNamedExactly) {
  for (const std::size_t element : {0U, 417U, 511U, 512U, 999U}) {
    const auto found =
        find<float>(4, std::vector<float>(1000, 1.0F), [&](int rank, std::vector<float>& own) {
          if (rank == 2) own[element] = std::nextafter(1.0F, 2.0F);
        });
    ASSERT_TRUE(found.has_value());
    EXPECT_EQ(describe(*found), "rank 2 has 1.00000012 (0x3f800001) at element " +
                                    std::to_string(element) +
                                    ", the others 1 (0x3f800000): 1 ulp apart");
  }
}

TEST(Divergence, TheFirstOfSeveralElementsIsNamed) {
  const auto found = find<std::int32_t>(3, std::vector<std::int32_t>(300, 7),
                                        [](int rank, std::vector<std::int32_t>& own) {
                                          if (rank == 0) own[250] = 9;
                                          if (rank == 1) own[99] = -3;
                                        });
  ASSERT_TRUE(found.has_value());
  EXPECT_EQ(describe(*found), "rank 1 has -3 at element 99, the others 7: 10 apart");
}

TEST(Divergence, MostDecideAndTheLowestRankAmongEquals) {
  const auto change = [](int rank, std::vector<double>& own) {
    if (rank % 2 == 1) own[5] = 4;
  };
  auto found = find<double>(5, std::vector<double>(6, 2.0), change);
  EXPECT_THAT(found->ranks, ElementsAre(1, 3));
  EXPECT_EQ(describe(*found),
            "ranks 1 and 3 differ: rank 1 has 4 (0x4010000000000000) at element 5, most have 2 "
            "(0x4000000000000000): 4503599627370496 ulps apart");
  found = find<double>(2, std::vector<double>(6, 2.0), change);
  EXPECT_THAT(found->ranks, ElementsAre(1));
}

TEST(Divergence, SignsOfZeroAndNansDiffer) {
  auto found = find<float>(2, {0.0F}, [](int rank, std::vector<float>& own) {
    if (rank == 1) own[0] = -0.0F;
  });
  EXPECT_EQ(describe(*found),
            "rank 1 has -0 (0x80000000) at element 0, the others 0 (0x00000000): 1 ulp apart");
  found = find<float>(2, {0.0F}, [](int rank, std::vector<float>& own) {
    if (rank == 1) own[0] = std::numeric_limits<float>::quiet_NaN();
  });
  EXPECT_EQ(describe(*found),
            "rank 1 has nan (0x7fc00000) at element 0, the others 0 (0x00000000): not comparable");
}

TEST(Divergence, CountsUlpsAcrossZeroAndOverTheWholeRange) {
  const auto f32 = [](float value) { return std::uint64_t{std::bit_cast<std::uint32_t>(value)}; };
  const float least = std::numeric_limits<float>::denorm_min();
  EXPECT_EQ(ulps_between(DataType::f32, f32(-least), f32(least)), 3U);  // counts both zeros
  EXPECT_EQ(ulps_between(DataType::f16, 0x3C00, 0x3C05), 5U);
  EXPECT_EQ(ulps_between(DataType::bf16, 0x7F80, 0x7F7F), 1U);  // infinity follows the largest
  EXPECT_EQ(ulps_between(DataType::i64, 0x8000000000000000, 0x7FFFFFFFFFFFFFFF),
            std::numeric_limits<std::uint64_t>::max());
  EXPECT_EQ(ulps_between(DataType::u8, 255, 0), 255U);
  EXPECT_EQ(ulps_between(DataType::i8, 255, 0), 1U);
  EXPECT_FALSE(ulps_between(DataType::f16, 0x7E00, 0));
}

TEST(Divergence, WritesValuesOfEveryType) {
  EXPECT_EQ(value_text(DataType::f16, 0x3C01), "1.001 (0x3c01)");
  EXPECT_EQ(value_text(DataType::bf16, 0xC049), "-3.141 (0xc049)");
  EXPECT_EQ(value_text(DataType::f16, 0x0001), "5.9605e-08 (0x0001)");
  EXPECT_EQ(value_text(DataType::f64, 0xFFF0000000000000), "-inf (0xfff0000000000000)");
  EXPECT_EQ(value_text(DataType::u8, 200), "200");
  EXPECT_EQ(value_text(DataType::i8, 200), "-56");
  EXPECT_EQ(value_text(DataType::i64, ~0ULL), "-1");
}

TEST(Divergence, AnErrorOfTheExchangeIsTheAnswer) {
  const Ranks broken = {0, 2, [](std::span<std::int32_t>) -> Result<void> {
                          return tl::unexpected(Error{Code::unavailable, "nobody is there"});
                        }};
  const std::vector<float> tensor(10);
  const auto found = find_divergence(tensor, broken);
  ASSERT_FALSE(found.has_value());
  EXPECT_EQ(found.error().message, "nobody is there");
}

}  // namespace
}  // namespace infold::rank
