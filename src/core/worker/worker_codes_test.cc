// SPDX-License-Identifier: Apache-2.0
//
// A worker sends each chunk with agreed exponents as soon as its blocks' codes have
// arrived, and never before.
#include <vector>

#include <gtest/gtest.h>

#include "core/stripe.h"
#include "core/worker/worker_codes_testing.h"

namespace infold::core::testing {
namespace {

class AgreedCodes : public ::testing::TestWithParam<std::uint16_t> {
 protected:
  static constexpr auto kCodesSent = Job::Content::codes;
};

// The codes are in the small stream, in the bulk stream, or there is no small stream.
INSTANTIATE_TEST_SUITE_P(SmallSlots, AgreedCodes, ::testing::Values(4, 1, 0));

TEST_P(AgreedCodes, AChunkGoesOnceItsOwnAreThere) {
  Job job({.small_slots = GetParam()});
  Worker& worker = job.workers[0];
  Tensor tensor(DataType::f32, 36, 0, 1);
  job.submit(tensor);
  EXPECT_EQ(job.send(), 0U);
  job.deliver_all_that_goes_up();
  EXPECT_EQ(job.send(), 0U) << "what was sent does not count as an answer";
  job.deliver_nth(kCodesSent, 2);
  EXPECT_EQ(job.send(), 0U);
  job.deliver_nth(kCodesSent, 0);
  EXPECT_EQ(job.send(), 16U);
  while (job.wire.size() > 1) {  // all but the codes in the middle
    job.deliver(job.wire[0].content == kCodesSent ? 1 : 0);
    EXPECT_EQ(job.send(), 0U);
  }
  EXPECT_EQ(job.send_rest(), 20U);
  tensor.expect_sum(1);
  for (const bool more : {true, true, false}) EXPECT_EQ(worker.poll_event().has_value(), more);
}

// Chunks of f64 have 5 blocks, and chunks of their codes 224, so the 45th chunk needs two chunks of
// codes.
TEST_P(AgreedCodes, AChunkThatLiesAcrossWaitsForBoth) {
  Job job({.elements_max = 448, .small_slots = GetParam(), .bulk_slots = 400});
  Tensor tensor(DataType::f64, 500, 0, 1);
  job.submit(tensor);
  EXPECT_EQ(job.send(), 0U);
  job.deliver_all_that_goes_up();
  job.deliver_nth(kCodesSent, 0);
  std::size_t sent = job.send();
  while (job.wire.size() > 2) {  // all but the two that bring the other codes
    std::size_t next = 0;
    while (job.wire[next].content == kCodesSent) ++next;
    job.deliver(next);
    sent += job.send();
  }
  EXPECT_EQ(sent, 44U);
  EXPECT_EQ(sent + job.send_rest(), 100U);
  tensor.expect_sum(1);
}

// An earlier call that is not done does not hold back the packets of a later call.
TEST_P(AgreedCodes, CallsBeforeNeedNotBeDone) {
  Job job({.small_slots = GetParam()});
  Worker& worker = job.workers[0];
  Tensor first(DataType::f32, 1, 0, 1), second(DataType::f32, 33, 0, 1);
  ASSERT_TRUE(worker.submit(job.now, first.data(TransferId::none)));
  job.submit(second);
  EXPECT_EQ(job.send(), 1U);
  job.deliver_all_that_goes_up();
  job.deliver_nth(kCodesSent, 0);
  EXPECT_EQ(job.send(), 16U);
}

// If the job ends between the two transfers, both fail in order, and nothing more is sent.
TEST_P(AgreedCodes, AJobMayEndBetweenThem) {
  Job job({.small_slots = GetParam()});
  Worker& worker = job.workers[0];
  Tensor tensor(DataType::f32, 36, 0, 1);
  const auto agreement = worker.submit(job.now, tensor.agreement());
  const auto data = worker.submit(job.now, tensor.data(*agreement));
  job.send();
  job.deliver_all_that_goes_up();
  job.deliver_nth(kCodesSent, 0);
  EXPECT_EQ(job.send(), 16U);
  worker.cancel(job.now);
  while (!job.wire.empty()) {
    job.deliver(0);
    EXPECT_EQ(job.send(), 0U);
  }
  for (const TransferId id : {*agreement, *data}) {
    const auto event = worker.poll_event();
    ASSERT_TRUE(event && event->failure);
    EXPECT_EQ(event->id, id);
    EXPECT_EQ(event->failure->error.code, base::Code::cancelled);
  }
}

TEST_P(AgreedCodes, WithoutCodesATransferWaitsForAllOfAnother) {
  Job job({.small_slots = GetParam()});
  Worker& worker = job.workers[0];
  Tensor tensor(DataType::f32, 36, 0, 1);
  const auto agreement = worker.submit(job.now, tensor.agreement());
  TransferRequest request = tensor.data(*agreement);
  request.codes = nullptr;
  ASSERT_TRUE(worker.submit(job.now, request));
  EXPECT_EQ(job.send(), 0U);
  job.deliver_all_that_goes_up();
  for (int answers = 0; answers < 2; ++answers) {
    job.deliver_nth(kCodesSent, 0);
    EXPECT_EQ(job.send(), 0U);
  }
  EXPECT_EQ(job.send_rest(), 36U);
}

TEST(WorkerCodes, AChunkWhoseSlotIsTakenAgainHasBroughtItsCodes) {
  Job job({.small_slots = 0, .bulk_slots = 2});
  Tensor tensor(DataType::f32, 36, 0, 1);
  job.submit(tensor);
  EXPECT_EQ(job.send(), 0U);
  job.deliver_all_that_goes_up();
  while (!job.wire.empty()) job.deliver(0);
  EXPECT_EQ(job.send(), 1U) << "beside the third chunk of codes";
  EXPECT_EQ(job.send_rest(), 35U);
  tensor.expect_sum(1);
}

// The chunks of a transfer have no numbers as long as an earlier transfer of its stream has no size
//
TEST(WorkerCodes, AChunkWaitsForCodesThatHaveNoPlaceYet) {
  Job job({.small_slots = 60, .bulk_slots = 60});
  Worker& worker = job.workers[0];
  Tensor before(DataType::f32, 10, 0, 1), later(DataType::f32, 1, 0, 1);
  Tensor tensor(DataType::f32, 36, 0, 1);
  TransferRequest sized_before = before.data(TransferId::none);
  sized_before.priority = Priority::background;
  ASSERT_TRUE(worker.submit(job.now, sized_before));
  EXPECT_EQ(job.send_rest(), 10U);
  TransferRequest sized_later = later.data(TransferId::none);
  sized_later.sized_later = true;
  const auto unsized = worker.submit(job.now, sized_later);
  TransferRequest codes = tensor.agreement();
  codes.priority = Priority::background;
  const auto agreement = worker.submit(job.now, codes);
  TransferRequest urgent = tensor.data(*agreement);
  urgent.priority = Priority::urgent;
  ASSERT_TRUE(worker.submit(job.now, urgent));
  EXPECT_EQ(job.send_rest(), 0U);
  worker.set_size(*unsized, 0);
  EXPECT_EQ(job.send_rest(), 36U);
  tensor.expect_sum(1);
}

// The first chunk that a site of small weight gets may be the one that needs two chunks of codes.
TEST(WorkerCodes, AChunkAcrossWaitsForBothAtASiteOfItsOwn) {
  const JobOptions options = {
      .weights = {1, 64}, .elements_max = 448, .small_slots = 0, .bulk_slots = 400};
  constexpr std::uint64_t kAcross = 3 + 44;  // after the chunks of codes
  const std::uint64_t place = Stripe(options.weights).chunk_at(0, {});
  Job job(options);
  Worker& worker = job.workers[0];
  Tensor before(DataType::f64, (place + 65 - kAcross) % 65 * 5, 0, 1);
  Tensor tensor(DataType::f64, 500, 0, 1);
  ASSERT_TRUE(worker.submit(job.now, before.data(TransferId::none)));
  job.send_rest();
  job.submit(tensor);
  EXPECT_EQ(job.send(), 0U);
  job.deliver_all_that_goes_up();
  job.deliver_nth(Job::Content::codes, 2);
  job.deliver_nth(Job::Content::codes, 1);
  EXPECT_EQ(job.send(), 0U);
  job.deliver(0);
  EXPECT_EQ(job.send_rest(), 100U);
  tensor.expect_sum(1);
}

// The worker must not leave answers unread that chunks of a large tensor wait for.
TEST(WorkerPatience, EndsWhereAChunkLacksItsCodes) {
  Job job({.elements_max = 32, .small_slots = 0, .bulk_slots = 448});
  Worker& worker = job.workers[0];
  Tensor before(DataType::f32, 4, 0, 1), tensor(DataType::f32, 400, 0, 1);
  const auto send_and_wait = [&] {
    job.send();
    job.deliver_all_that_goes_up();
    job.now = job.now + base::milliseconds(1);
  };
  ASSERT_TRUE(worker.submit(job.now, before.data(TransferId::none)));
  send_and_wait();
  while (!job.wire.empty()) job.deliver(0);
  job.submit(tensor);
  send_and_wait();
  EXPECT_EQ(worker.in_flight(), 25U) << "all codes";
  EXPECT_EQ(worker.patience(), base::Duration{});
  job.deliver(0);
  EXPECT_GT(job.send(), 0U);
  EXPECT_GT(worker.patience(), base::Duration{});
}

}  // namespace
}  // namespace infold::core::testing
