// SPDX-License-Identifier: Apache-2.0
//
// Tests that a switch in the kernel refuses wrong jobs itself, although the registry checks them as
// well.
#include "planes/xdp/kernel_switch.h"

#include <cstdlib>
#include <memory>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "planes/xdp/testing.h"

namespace infold::xdp {
namespace {

using ::testing::HasSubstr;

class KernelSwitchTest : public testing::OwnNamespace {
 protected:
  void SetUp() override {
    OwnNamespace::SetUp();
    if (IsSkipped() || HasFatalFailure()) return;
    ASSERT_EQ(std::system("ip addr add 10.0.0.1/24 dev near && ip link set near up && "
                          "ip link set far up"),
              0);
    KernelSwitchOptions options;
    options.listen = *io::SocketAddress::parse("10.0.0.1:7700", "test");
    options.interfaces = {"near"};
    options.slots = 64;
    options.packet_bytes_max = 1500;
    auto started = KernelSwitch::start(options);
    ASSERT_TRUE(started.has_value()) << started.error();
    switch_ = std::move(*started);
  }

  static join::JobTerms terms(std::uint16_t number, std::uint32_t epoch) {
    join::JobTerms terms;
    terms.job = number;
    terms.epoch = epoch;
    terms.world = 2;
    terms.datagram_bytes_max = 1472;
    terms.elements_max = 1056;
    terms.small_slots = 4;
    terms.bulk_slots = 4;
    return terms;
  }

  std::unique_ptr<KernelSwitch> switch_;
};

// A4: otherwise, the second job would replace a running aggregator, and ranks would time out.
TEST_F(KernelSwitchTest, ANumberOfALivingJobIsRefused) {
  ASSERT_TRUE(switch_->start_job(terms(7, 1)).has_value());
  const join::Answer<void> second = switch_->start_job(terms(7, 2));
  ASSERT_FALSE(second.has_value());
  EXPECT_EQ(second.error().reason, join::RefusalReason::in_use);
  EXPECT_THAT(second.error().message, HasSubstr("the number 7 is another job's at the switch"));
  EXPECT_TRUE(switch_->start_job(terms(8, 2)).has_value()) << "another number is free";

  switch_->forget_job(7);
  EXPECT_TRUE(switch_->start_job(terms(7, 2)).has_value()) << "its job has gone";
}

// The join server asks for the end that the program keeps, when it hears of a lost rank.
TEST_F(KernelSwitchTest, TheFirstEndOfAJobIsKept) {
  using core::AbortReason;
  ASSERT_TRUE(switch_->start_job(terms(7, 1)).has_value());
  const auto first = switch_->end_job(7, {AbortReason::mismatch, 1, 0, {}, {}});
  ASSERT_TRUE(first.has_value());
  EXPECT_EQ(first->reason, AbortReason::mismatch);
  const auto second = switch_->end_job(7, {AbortReason::lost, 1, 1, {}, {}});
  ASSERT_TRUE(second.has_value());
  EXPECT_EQ(second->reason, AbortReason::mismatch);
  EXPECT_EQ(second->rank, 1);
  EXPECT_EQ(second->other, 0);
  EXPECT_FALSE(switch_->end_job(8, {AbortReason::lost, 1, 1, {}, {}}).has_value());
}

}  // namespace
}  // namespace infold::xdp
