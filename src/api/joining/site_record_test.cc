// SPDX-License-Identifier: Apache-2.0
//
// Tests jobs whose site has fewer abilities than our own: the terms that ranks get when they join,
// and the errors of their calls.
#include <memory>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "api/joining/join_testing.h"
#include "join/registry/job_registry.h"
#include "join/service/join_server.h"
#include "sparse/layout_choice.h"

namespace infold::testing {
namespace {

using core::FormatSet;
using ::testing::HasSubstr;

// Sums at one of our switches, but reports only the abilities in this record.
class LimitedPlane final : public join::Plane {
 public:
  explicit LimitedPlane(const core::SiteRecord& record) : record_(record) {}
  std::vector<join::SiteAddress> sites() const override {
    std::vector<join::SiteAddress> sites = switch_->sites();
    for (join::SiteAddress& site : sites) site.record = record_;
    return sites;
  }
  std::uint32_t slots_total() const override { return switch_->slots_total(); }
  std::uint32_t datagram_bytes_max() const override { return switch_->datagram_bytes_max(); }
  join::Answer<void> start_job(const join::JobTerms& terms) override {
    return switch_->start_job(terms);
  }
  std::optional<core::Abort> end_job(std::uint16_t job, const core::Abort& abort) override {
    return switch_->end_job(job, abort);
  }
  void forget_job(std::uint16_t job) override { switch_->forget_job(job); }

 private:
  const core::SiteRecord record_;
  const std::unique_ptr<switches::SwitchServer> switch_ = start_switch("127.0.0.1:0");
};

struct LimitedSwitch {
  explicit LimitedSwitch(const core::SiteRecord& record) : plane(record) {}
  JoinOptions options(int world) const {
    JoinOptions options = options_of(0, world);
    options.switches = {server->address().text()};
    return options;
  }

  LimitedPlane plane;
  join::JobRegistry registry{&plane};
  const std::unique_ptr<join::JoinServer> server = std::move(
      *join::JoinServer::start(*io::SocketAddress::parse("127.0.0.1:0", "test"), registry));
};

// The record of a pipeline without exponents.
core::SiteRecord integers_alone() {
  core::SiteRecord record;
  record.formats = FormatSet::of(core::WireFormat::i16) | FormatSet::of(core::WireFormat::i32);
  record.elements_max = 64;
  record.takes_sparse = false;
  return record;
}

TEST(SiteRecords, AFormatForAllCallsThatASiteLacksIsRefusedAtJoin) {
  const LimitedSwitch limited(integers_alone());
  JoinOptions options = limited.options(1);
  options.wire = WireFormat::bfp8;
  const auto joined = Communicator::join(options);
  ASSERT_FALSE(joined.has_value());
  EXPECT_EQ(joined.error().code, Code::unsupported);
  EXPECT_THAT(joined.error().message,
              HasSubstr("the site at " + limited.plane.sites().front().address +
                        " does not sum bfp8, which the job asks for; it sums i16, i32"));
}

TEST(SiteRecords, CallsInFormatsThatTheSiteSumsAreSummed) {
  const LimitedSwitch limited(integers_alone());
  run_job(2, limited.options(2), [](Communicator& comm) {
    std::vector<float> floats(1000, 1.5F);
    const auto agreed = comm.all_reduce(floats, {.wire = WireFormat::fixed32}).wait();
    ASSERT_TRUE(agreed.has_value()) << agreed.error().message;
    EXPECT_EQ(floats, std::vector<float>(1000, 3.0F));
    const auto exact = comm.all_reduce(floats, {.wire = WireFormat::digits}).wait();
    ASSERT_TRUE(exact.has_value()) << exact.error().message;
    EXPECT_EQ(floats, std::vector<float>(1000, 6.0F));
    std::vector<std::int32_t> numbers(1000, 7);
    const auto summed = comm.all_reduce(numbers).wait();
    ASSERT_TRUE(summed.has_value()) << summed.error().message;
    EXPECT_EQ(numbers, std::vector<std::int32_t>(1000, 14));
    EXPECT_TRUE(comm.barrier().wait().has_value());
  });
}

// A broadcast and a gather do not add, so elements of 64 bits can travel as two halves each.
TEST(SiteRecords, LongElementsAreCopiedWhereTheyAreNotSummed) {
  const LimitedSwitch limited(integers_alone());
  run_job(2, limited.options(2), [](Communicator& comm) {
    std::vector<std::int64_t> numbers(100, comm.rank() == 1 ? -(std::int64_t{1} << 40) - 5 : 0);
    const auto sent = comm.broadcast(numbers, 1).wait();
    ASSERT_TRUE(sent.has_value()) << sent.error().message;
    EXPECT_EQ(numbers, std::vector<std::int64_t>(100, -(std::int64_t{1} << 40) - 5));
    const std::vector<double> own(33, 0.1 + comm.rank());
    std::vector<double> all(66);
    const auto gathered = comm.all_gather(std::span(own), std::span(all)).wait();
    ASSERT_TRUE(gathered.has_value()) << gathered.error().message;
    for (std::size_t i = 0; i < all.size(); ++i) EXPECT_EQ(all[i], i < 33 ? 0.1 : 1.1);
  });
}

// An empty tensor does not send anything in the format that the site lacks.
TEST(SiteRecords, EmptyTensorsAreOfNoFormat) {
  const LimitedSwitch limited(integers_alone());
  run_job(2, limited.options(2), [](Communicator& comm) {
    std::vector<float> floats;
    std::vector<std::int64_t> numbers;
    for (const WireFormat wire : {WireFormat::automatic, WireFormat::bfp8, WireFormat::native}) {
      const auto summed = comm.all_reduce(floats, {.wire = wire}).wait();
      ASSERT_TRUE(summed.has_value()) << summed.error().message;
    }
    const auto summed = comm.all_reduce(numbers).wait();
    ASSERT_TRUE(summed.has_value()) << summed.error().message;
    const auto sent = comm.broadcast(numbers, 1).wait();
    ASSERT_TRUE(sent.has_value()) << sent.error().message;
  });
}

// A refused call ends the job, like any other. If the call were sent, it would end only at its
// deadline.
TEST(SiteRecords, ACallInAFormatThatTheSiteLacksSaysSoAtOnce) {
  const LimitedSwitch limited(integers_alone());
  run_job(1, limited.options(1), [](Communicator& comm) {
    std::vector<float> floats(1000, 1.5F);
    const auto refused = comm.all_reduce(floats, {.wire = WireFormat::bfp32}).wait();
    ASSERT_FALSE(refused.has_value());
    EXPECT_EQ(refused.error().code, Code::unsupported);
    EXPECT_THAT(refused.error().message, HasSubstr("does not sum this wire format"));
  });
}

// The record of a site in the kernel: native sums of f32, in jobs without trees.
core::SiteRecord native_of_f32() {
  core::SiteRecord record;
  record.formats = FormatSet::all() - FormatSet::of(core::WireFormat::native);
  record.native_types = core::FloatTypes::of(DataType::f32);
  return record;
}

TEST(SiteRecords, NativeIsSummedOfTheTypesThatTheSiteNames) {
  const LimitedSwitch limited(native_of_f32());
  JoinOptions options = limited.options(2);
  options.wire = WireFormat::native;
  run_job(2, options, [](Communicator& comm) {
    std::vector<float> floats = {2.5F, 3e9F};
    const auto summed = comm.all_reduce(floats).wait();
    ASSERT_TRUE(summed.has_value()) << summed.error().message;
    EXPECT_EQ(floats, (std::vector<float>{5.0F, 6e9F}));
  });
}

TEST(SiteRecords, NativeOfAnotherTypeIsRefusedAtOnce) {
  const LimitedSwitch limited(native_of_f32());
  JoinOptions options = limited.options(1);
  options.wire = WireFormat::native;
  run_job(1, options, [](Communicator& comm) {
    std::vector<double> doubles(1000, 1.5);
    const auto refused = comm.all_reduce(doubles).wait();
    ASSERT_FALSE(refused.has_value());
    EXPECT_EQ(refused.error().code, Code::unsupported);
    EXPECT_THAT(refused.error().message,
                HasSubstr("not all sites of the job sum wire format native"));
  });
}

// By default, each type is summed in a format that this site supports. The bits are the same.
TEST(SiteRecords, SumsAreTrueOfTypesThatTheSiteLacksToo) {
  for (const core::SiteRecord& record : {native_of_f32(), integers_alone()}) {
    const LimitedSwitch limited(record);
    run_job(2, limited.options(2), [](Communicator& comm) {
      std::vector<float> floats = {2.5F, 3e9F};
      const auto summed = comm.all_reduce(floats).wait();
      ASSERT_TRUE(summed.has_value()) << summed.error().message;
      EXPECT_EQ(floats, (std::vector<float>{5.0F, 6e9F}));
      std::vector<double> doubles = {0.1, 1e300};
      const auto wide = comm.all_reduce(doubles).wait();
      ASSERT_TRUE(wide.has_value()) << wide.error().message;
      EXPECT_EQ(doubles, (std::vector<double>{0.2, 2e300}));
    });
  }
}

// The site reserved no memory for native sums, because no rank asked for them when it joined.
TEST(SiteRecords, NativeByNameOfACallIsRefusedWhereTheJobDidNotAskForIt) {
  const LimitedSwitch limited(native_of_f32());
  JoinOptions options = limited.options(1);
  options.wire = WireFormat::bfp16;
  run_job(1, options, [](Communicator& comm) {
    std::vector<float> floats(1000, 1.5F);
    const auto refused = comm.all_reduce(floats, {.wire = WireFormat::native}).wait();
    ASSERT_FALSE(refused.has_value());
    EXPECT_THAT(refused.error().message,
                HasSubstr("not all sites of the job sum wire format native"));
  });
}

// The record of a chip whose registers have few operations and only one width.
core::SiteRecord chip() {
  core::SiteRecord record;
  record.formats = FormatSet::of(core::WireFormat::i32);
  record.reductions = {Reduction::sum, Reduction::average, Reduction::max};
  record.elements_max = 64;
  record.takes_sparse = false;
  return record;
}

// This also holds for what ranks exchange before floats.
TEST(SiteRecords, NarrowIntegersTravelInTheWiderOnesThatTheSiteHas) {
  const LimitedSwitch limited(chip());
  run_job(2, limited.options(2), [](Communicator& comm) {
    std::vector<std::int8_t> bytes = {100, -100, 127, -128, 1};
    const auto summed = comm.all_reduce(bytes).wait();
    ASSERT_TRUE(summed.has_value()) << summed.error().message;
    EXPECT_EQ(bytes, (std::vector<std::int8_t>{-56, 56, -2, 0, 2}));
    bytes = {static_cast<std::int8_t>(comm.rank() == 0 ? -3 : 5), -128};
    const auto greatest = comm.all_reduce(bytes, {.reduction = Reduction::max}).wait();
    ASSERT_TRUE(greatest.has_value()) << greatest.error().message;
    EXPECT_EQ(bytes, (std::vector<std::int8_t>{5, -128}));
    std::vector<std::uint8_t> unsigned_bytes(1000, comm.rank() == 0 ? 200 : 7);
    const auto most = comm.all_reduce(unsigned_bytes, {.reduction = Reduction::max}).wait();
    ASSERT_TRUE(most.has_value()) << most.error().message;
    EXPECT_EQ(unsigned_bytes, std::vector<std::uint8_t>(1000, 200));
    for (const WireFormat wire : {WireFormat::digits, WireFormat::fixed32}) {
      std::vector<float> floats(5000, 1.5F);
      floats[4999] = 3e9F;
      const auto exact = comm.all_reduce(floats, {.wire = wire}).wait();
      ASSERT_TRUE(exact.has_value()) << exact.error().message;
      EXPECT_EQ(floats[0], 3.0F);
      EXPECT_EQ(floats[4999], 6e9F);
    }
  });
}

TEST(SiteRecords, AReductionThatTheSiteLacksIsRefusedByName) {
  const LimitedSwitch limited(chip());
  run_job(1, limited.options(1), [&](Communicator& comm) {
    std::vector<std::int32_t> numbers(10, 7);
    const auto refused = comm.all_reduce(numbers, {.reduction = Reduction::min}).wait();
    ASSERT_FALSE(refused.has_value());
    EXPECT_EQ(refused.error().code, Code::unsupported);
    EXPECT_THAT(refused.error().message,
                HasSubstr("the site at " + limited.plane.sites().front().address +
                          " does not take min; it takes sum, average, max"));
  });
}

// Sets of blocks are joined by the operation `or`.
TEST(SiteRecords, NoZerosAreLeftOutWhereTheSiteTakesNoOr) {
  const LimitedSwitch limited(chip());
  run_job(1, limited.options(1), [](Communicator& comm) {
    std::vector<float> tensor(100);
    const auto refused = comm.all_reduce(tensor, {.layout = Layout::blocks}).wait();
    ASSERT_FALSE(refused.has_value());
    EXPECT_THAT(refused.error().message, HasSubstr("does not take or; it takes sum, average, max"));
  });
}

// The switch in this test sums elements in the usual byte order. What it copies comes back
// unchanged.
TEST(SiteRecords, ElementsAreReversedOnTheWayToABigEndianSiteAndBack) {
  core::SiteRecord record = chip();
  record.is_big_endian = true;
  const LimitedSwitch limited(record);
  run_job(2, limited.options(2), [](Communicator& comm) {
    std::vector<std::int32_t> numbers(1000, comm.rank() == 1 ? 0x01020304 : 0);
    const auto sent = comm.broadcast(numbers, 1).wait();
    ASSERT_TRUE(sent.has_value()) << sent.error().message;
    EXPECT_EQ(numbers, std::vector<std::int32_t>(1000, 0x01020304));
    const auto summed = comm.all_reduce(numbers).wait();
    ASSERT_TRUE(summed.has_value()) << summed.error().message;
    EXPECT_EQ(numbers.front(), 0x02040608);
    numbers.front() = 0x80;
    const auto carried = comm.all_reduce(std::span(numbers).first(1)).wait();
    ASSERT_TRUE(carried.has_value()) << carried.error().message;
    EXPECT_EQ(numbers.front(), 0) << "bytes are not reversed";
  });
}

core::SiteRecord all_but_i32() {
  core::SiteRecord record;
  record.formats = FormatSet::all() - FormatSet::of(core::WireFormat::i32);
  return record;
}

// Sets of blocks are joined as words of i32. Without the site's record, the first of these
// calls would leave out zeros, because its tensor is long.
TEST(SiteRecords, AutomaticLayoutIsDenseWhereTheSiteCannotJoinSets) {
  constexpr std::size_t kElements = sparse::LayoutChoice::kLongBytes / sizeof(float);
  const LimitedSwitch limited(all_but_i32());
  run_job(2, limited.options(2), [](Communicator& comm) {
    for (int call = 0; call < 10; ++call) {
      std::vector<float> tensor(kElements);
      tensor[7] = 1.5F;
      const auto summed = comm.all_reduce(tensor, {.layout = Layout::automatic}).wait();
      ASSERT_TRUE(summed.has_value()) << summed.error().message;
      EXPECT_EQ(tensor[7], 3.0F);
      EXPECT_EQ(tensor[kElements - 1], 0.0F);
    }
    EXPECT_EQ(comm.statistics().calls_sparse, 0U);
  });
}

TEST(SiteRecords, ZerosThatTheCallLeavesOutAreRefusedWhereTheSiteCannotJoinSets) {
  const LimitedSwitch limited(all_but_i32());
  const std::string lack = "the site at " + limited.plane.sites().front().address +
                           " does not sum i32, in which ranks join what they have";
  const auto expect_refused = [&](const Result<Completion>& refused, const char* advice) {
    ASSERT_FALSE(refused.has_value());
    EXPECT_EQ(refused.error().code, Code::unsupported);
    EXPECT_THAT(refused.error().message, HasSubstr(lack));
    EXPECT_THAT(refused.error().message, HasSubstr(advice));
  };
  run_job(1, limited.options(1), [&](Communicator& comm) {
    std::vector<float> tensor(1000, 1.5F);
    expect_refused(comm.all_reduce(tensor, {.layout = Layout::blocks}).wait(),
                   "make the layout dense");
  });
  run_job(1, limited.options(1), [&](Communicator& comm) {
    const std::vector<std::int64_t> indices = {3};
    const std::vector<float> values(10, 1.5F);
    Rows rows;
    expect_refused(comm.all_reduce({indices, values, 1000, 10}, rows).wait(),
                   "pass the whole tensor");
  });
}

}  // namespace
}  // namespace infold::testing
