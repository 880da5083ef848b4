// SPDX-License-Identifier: Apache-2.0
//
// Tests what the controller does with the packets that the pipeline forwards to its host.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/prng.h"
#include "planes/p4/pipeline_switch.h"
#include "planes/p4/pipeline_switch_testing.h"

namespace infold::p4 {
namespace {

using ::testing::IsEmpty;
using ::testing::SizeIs;

TEST_P(PipelineSwitchTest, AnEndReachesTheWorkersThatAreKnown) {
  ASSERT_TRUE(switch_->start_job(terms_of(7)).has_value());
  learn_workers(7);
  switch_->end_job(7, {core::AbortReason::lost, 1, 1, {}, {}});
  EXPECT_TRUE(has_ended(7));
  for (std::uint8_t worker = 0; worker < 2; ++worker) {
    const std::optional<core::Abort> heard = heard_by(worker, kLong);
    ASSERT_TRUE(heard.has_value());
    EXPECT_EQ(heard->reason, core::AbortReason::lost);
    EXPECT_EQ(heard->rank, 1);
  }
  // In this state, the pipeline forwards packets of open chunks to the host.
  send_add(1, add_of(7, 1));
  EXPECT_TRUE(serve_until(core::Verdict::answered_ended));
  EXPECT_TRUE(heard_by(1, kLong).has_value());
}

TEST_P(PipelineSwitchTest, ARankThatLeavesEndsTheJobOnlyForThoseWhoWait) {
  ASSERT_TRUE(switch_->start_job(terms_of(7)).has_value());
  learn_workers(7);
  send_abort(7, 0, core::AbortReason::left);
  ASSERT_TRUE(serve_until(core::Verdict::job_ended));
  EXPECT_TRUE(heard_by(0, kLong).has_value());
  EXPECT_FALSE(heard_by(1, base::milliseconds(50)).has_value());

  ASSERT_TRUE(switch_->start_job(terms_of(8)).has_value());
  device_.tell(WorkerNote{8, 1, 5, workers_[1]->local_address().port(), 2});
  ASSERT_TRUE(device_.wait_for_acknowledgements());
  // Worker 1 waits for worker 0.
  device_.set_slot(jobs()[8].first_slot + 2, {.open = 1, .seen = seen_of({1}, 2), .copies = {}});
  send_abort(8, 0, core::AbortReason::left);
  ASSERT_TRUE(serve_until(core::Verdict::job_ended, 2));
  EXPECT_TRUE(heard_by(0, kLong).has_value());
  EXPECT_TRUE(heard_by(1, kLong).has_value());
}

TEST_P(PipelineSwitchTest, CallsThatDifferEndTheJobAndTheSlotForgetsTheSecond) {
  const core::Header first = add_of(7, 1);
  const core::Header other = add_of(7, 0, 2);
  const std::uint32_t layout = std::uint32_t{first.signature.elements} << 16 |
                               std::uint32_t{first.signature.format} << 8 |
                               first.signature.operation;
  // The contribution that differs is either the last one or one of several.
  for (const std::uint32_t world : {2U, 3U}) {
    ASSERT_TRUE(switch_->start_job(terms_of(7, 4, world)).has_value());
    learn_workers(7);
    FakeDevice::Slot slot = {.open = world == 2 ? 2U : 1U,
                             .seen = world == 2 ? 0U : seen_of({0, 1}, 3)};
    slot.copies[1] = {.layout = layout, .first_worker = 1, .is_spoiled = true};
    device_.set_slot(0, slot);
    // The first worker waits for its result. The other worker has lost its packet, and asks.
    send_add(1, first);
    ASSERT_TRUE(serve_until(core::Verdict::dropped_stale_round, world - 1));
    EXPECT_FALSE(has_ended(7));
    core::Header query = other;
    query.kind = core::Kind::query;
    query.contributors = {};
    send(0, world == 2 ? query : other,
         std::vector<std::byte>(world == 2 ? 0 : std::size_t{4} * other.signature.elements));
    ASSERT_TRUE(serve_until(core::Verdict::job_ended, world - 1));
    EXPECT_EQ(device_.slot(0).open, 1U);
    EXPECT_EQ(device_.slot(0).seen, seen_of({1}, world));
    for (std::uint8_t worker = 0; worker < 2; ++worker) {
      const std::optional<core::Abort> heard = heard_by(worker, kLong);
      ASSERT_TRUE(heard.has_value());
      EXPECT_EQ(heard->reason, core::AbortReason::mismatch);
      EXPECT_EQ(heard->rank, 0);
      EXPECT_EQ(heard->other, 1);
      EXPECT_EQ(heard->rank_signature.elements, 2);
      EXPECT_EQ(heard->other_signature.elements, 1);
    }
    switch_->forget_job(7);
  }
}

// BMv2 is left out, because its packets to registers are repeated for seconds before the switch
// gives up.
TEST_F(TofinoSwitchTest, ARankThatLeavesEndsTheJobForAllIfRegistersCannotBeRead) {
  ASSERT_TRUE(switch_->start_job(terms_of(7)).has_value());
  learn_workers(7);
  device_.hide_registers(true);
  send_add(1, add_of(7, 1));
  ASSERT_TRUE(serve_until(core::Verdict::dropped_stale_round));
  EXPECT_FALSE(has_ended(7));
  send_abort(7, 0, core::AbortReason::left);
  ASSERT_TRUE(serve_until(core::Verdict::job_ended));
  EXPECT_TRUE(heard_by(0, kLong).has_value());
  EXPECT_TRUE(heard_by(1, kLong).has_value());
}

TEST_P(PipelineSwitchTest, PacketsThatCameByAnotherWayAreCounted) {
  ASSERT_TRUE(switch_->start_job(terms_of(7)).has_value());
  for (int i = 0; i < 10; ++i) send_add(0, add_of(7, 0));
  EXPECT_TRUE(watch_until([&] { return switch_->metrics().packets_of("dropped_stray") == 10; }));
  EXPECT_FALSE(has_ended(7));
}

TEST_F(TofinoSwitchTest, AJobEndsWhoseRankTurnsOutToBeBehindAnotherPipe) {
  ASSERT_TRUE(switch_->start_job(terms_of(7)).has_value());
  send_add(0, add_of(7, 0));
  ASSERT_TRUE(watch_until([&] { return switch_->metrics().packets_of("dropped_stray") == 1; }));
  mac_of_ranks_ = 0x02;
  device_.tell(StationNote{0x02, 130});
  ASSERT_TRUE(device_.wait_for_acknowledgements());
  send_add(0, add_of(7, 0));
  ASSERT_TRUE(serve_until(core::Verdict::job_ended));
  EXPECT_TRUE(has_ended(7));
  const std::optional<core::Abort> heard = heard_by(0, kLong);
  ASSERT_TRUE(heard.has_value());
  EXPECT_EQ(heard->reason, core::AbortReason::lost);
  EXPECT_EQ(heard->rank, 0);
}

TEST_P(PipelineSwitchTest, PacketsThatNoPipelineSumsAreCountedByTheirReason) {
  ASSERT_TRUE(switch_->start_job(terms_of(7)).has_value());
  core::Header beyond = add_of(7, 0);
  beyond.slot = 256;
  send_add(0, beyond);
  EXPECT_TRUE(serve_until(core::Verdict::dropped_bad_slot));
  core::Header wide = add_of(7, 0);
  wide.signature.set_layout({core::WireFormat::i64, core::DataType::i64});
  send(0, wide, std::vector<std::byte>(8));
  EXPECT_TRUE(serve_until(core::Verdict::dropped_limits));
  core::Header other = add_of(7, 0);
  ++other.contributors.digest;
  send_add(0, other);
  EXPECT_TRUE(serve_until(core::Verdict::dropped_malformed));
  EXPECT_FALSE(has_ended(7));
}

TEST_P(PipelineSwitchTest, PacketsFromElsewhereAndOfOldJobsDoNothing) {
  join::JobTerms terms = terms_of(7);
  terms.rank_sources[0] = address("127.0.0.9:0");
  ASSERT_TRUE(switch_->start_job(terms).has_value());
  send_abort(7, 0, core::AbortReason::left);
  EXPECT_TRUE(serve_until(core::Verdict::dropped_wrong_source));
  core::Header old = header_of(7, core::Kind::abort, 1);
  --old.epoch;
  std::array<std::byte, sizeof(infold_abort)> body;
  core::write_abort({core::AbortReason::left, 1, 1, {}, {}}, body.data());
  send(1, old, body);
  EXPECT_TRUE(serve_until(core::Verdict::dropped_stale_epoch));
  send_abort(6, 1, core::AbortReason::left);
  EXPECT_TRUE(serve_until(core::Verdict::dropped_foreign_job));
  EXPECT_FALSE(has_ended(7));
}

TEST_P(PipelineSwitchTest, NothingThatIsDrawnBreaksIt) {
  ASSERT_TRUE(switch_->start_job(terms_of(7)).has_value());
  base::Prng prng(20261126);
  for (int i = 0; i < 300; ++i) {
    switch (prng.below(4)) {
      case 0:
        device_.tell(WorkerNote{static_cast<std::uint16_t>(prng.below(20)),
                                static_cast<std::uint8_t>(prng.below(40)), prng.next() >> 16,
                                static_cast<std::uint16_t>(prng.next()),
                                static_cast<std::uint32_t>(prng.below(600))});
        break;
      case 1:
        device_.tell(StationNote{prng.below(8), static_cast<std::uint32_t>(prng.below(600))});
        break;
      default: {
        core::Header header = add_of(7, static_cast<std::uint8_t>(prng.below(3)));
        std::vector<std::byte> datagram(INFOLD_HEADER_BYTES + 4);
        core::write_header(header, datagram);
        for (std::uint64_t altered = prng.below(3); altered > 0; --altered) {
          datagram[prng.below(datagram.size())] = static_cast<std::byte>(prng.next());
        }
        send(static_cast<std::uint8_t>(prng.below(2)), datagram);
        switch_->watch(kLook);
      }
    }
  }
  ASSERT_TRUE(device_.wait_for_acknowledgements());
  EXPECT_THAT(device_.entries(Table::stations), SizeIs(::testing::Le(8)));
  switch_->forget_job(7);
  EXPECT_THAT(device_.entries(Table::workers), IsEmpty());
  EXPECT_THAT(device_.entries(Table::places), IsEmpty());
  EXPECT_THAT(device_.groups(), SizeIs(1));
}

}  // namespace
}  // namespace infold::p4
