// SPDX-License-Identifier: Apache-2.0
//
// Tests that no rank makes the others allocate more than the longest code of a tensor.
#include "api/compression/leg_exchange.h"

#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include <infold/compression.h>
#include <infold/compressor.h>

#include "api/testing.h"

namespace infold {
namespace {

using compress::Leg;
using compress::Travel;
using ::testing::HasSubstr;
using testing::make_group;
using testing::on_every_rank;

constexpr std::uint16_t kEncoding = 7;
constexpr std::size_t kLongest = 100;

Leg leg_of(const std::vector<std::byte>& code) {
  return {.travel = Travel::gather, .sent = code, .bytes_max = kLongest};
}

TEST(LegExchange, TakesTheLongestCodeAndNoLongerOne) {
  for (const std::size_t length : {kLongest, kLongest + 1}) {
    LocalGroup group = make_group({.world = 3});
    on_every_rank(group, [&](Communicator& comm, int rank) {
      const std::vector<std::byte> code(rank == 1 ? length : 10, std::byte{5});
      LegExchange exchange(comm, kEncoding, {}, {});
      const Leg leg = leg_of(code);
      const auto answers = exchange.make({&leg, 1});
      ASSERT_EQ(answers.has_value(), length == kLongest);
      if (answers) {
        EXPECT_EQ(answers->front().gathered[1].size(), length);
        return;
      }
      EXPECT_EQ(answers.error().code, Code::invalid_argument);
      EXPECT_EQ(answers.error().rank, 1);
      EXPECT_EQ(answers.error().message,
                "compression: rank 1 says that its code has 101 bytes, and the longest code of "
                "that tensor has 100");
    });
  }
}

// Rank 1 only says that it has 2 GiB. The others refuse before they make room for that.
TEST(LegExchange, ALieAboutALengthCostsNoMemory) {
  LocalGroup group = make_group({.world = 3});
  on_every_rank(group, [&](Communicator& comm, int rank) {
    if (rank == 1) {
      const std::uint64_t length = std::uint64_t{2} << 30;
      std::vector<std::uint8_t> own(sizeof(length));
      std::memcpy(own.data(), &length, sizeof(length));
      std::vector<std::uint8_t> all(3 * own.size());
      EXPECT_TRUE(comm.all_gather(own, all, {.encoding = kEncoding}).wait());
      return;
    }
    LegExchange exchange(comm, kEncoding, {}, {});
    const std::vector<std::byte> code(10);
    const Leg leg = leg_of(code);
    const auto answers = exchange.make({&leg, 1});
    ASSERT_FALSE(answers.has_value());
    EXPECT_THAT(answers.error().message, HasSubstr("rank 1 says that its code has 2147483648"));
    EXPECT_EQ(comm.statistics().calls, 1U) << "the call that tells the lengths";
  });
}

// A method of a user, whose codes are as long as a test says.
class Long final : public compress::GatheredCompressor {
 public:
  static inline std::size_t length = 0;

 private:
  void encode(std::span<const float>, const compress::Turn&,
              std::vector<std::byte>& code) override {
    code.resize(length);
  }
  bool add(std::span<const std::byte>, std::span<double>) const override { return true; }
};

TEST(LegExchange, AMethodWithoutALimitHasTheUsualOne) {
  const compress::Method method{
      .name = "my long codes",
      .bias = compress::Bias::unknown,
      .make = [](const auto&, const auto&) { return std::make_unique<Long>(); }};
  static const bool is_added = compress::add_method(method).has_value();  // once, if tests repeat
  ASSERT_TRUE(is_added);
  constexpr std::size_t kElements = 1000;
  constexpr std::size_t kUsual = 65'536 + 16 * kElements;
  for (const std::size_t length : {kUsual, kUsual + 1}) {
    Long::length = length;
    LocalGroup group = make_group({.world = 2});
    on_every_rank(group, [&](Communicator& comm, int) {
      auto compression = Compression::create({.method = "my long codes"});
      ASSERT_TRUE(compression.has_value());
      std::vector<float> gradient(kElements, 1);
      const ParameterView view{"weight", gradient};
      const auto done = compression->average(comm, {&view, 1});
      ASSERT_EQ(done.has_value(), length == kUsual);
      if (!done) {
        EXPECT_THAT(done.error().message, HasSubstr("rank 0 says that its code has 81537"));
      }
    });
  }
}

}  // namespace
}  // namespace infold
