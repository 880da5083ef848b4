// SPDX-License-Identifier: Apache-2.0
//
// Tests joining at join servers whose answers the test scripts.
#include <chrono>
#include <latch>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <infold/communicator.h>

#include "api/joining/join_testing.h"
#include "join/client/job_answers_testing.h"

namespace infold::testing {
namespace {

using join::testing::ScriptedHost;
using ::testing::HasSubstr;
using Clock = std::chrono::steady_clock;

// Options of rank 0 of 2, at switches that propose to sum in memory, so that no path is probed.
JoinOptions options_at(const std::vector<std::string>& switches) {
  JoinOptions options = options_of(0, 2);
  options.switches = switches;
  options.shared_memory = SharedMemory::off;
  return options;
}

void tell_terms(join::testing::OtherEnd& rank) {
  v1::JoinRequest request;
  rank.hear(request);
  v1::JoinReply reply = join::testing::joined_reply(2);
  reply.mutable_joined()->clear_racks();
  reply.mutable_joined()->mutable_sites()->DeleteSubrange(1, 2);
  rank.say(reply);
  rank.hear(request);
}

void refuse(join::testing::OtherEnd& rank, v1::Refused::Reason reason, const char* message) {
  v1::JoinReply reply;
  reply.mutable_refused()->set_reason(reason);
  reply.mutable_refused()->set_message(message);
  rank.say(reply);
}

TEST(JoinAtHostileHosts, ASilentSwitchIsLeftWithTheDeadline) {
  for (const bool tells_terms : {false, true}) {
    const ScriptedHost host([tells_terms](join::testing::OtherEnd& rank) {
      if (tells_terms) tell_terms(rank);
      join::testing::stay_silent(rank);
    });
    JoinOptions options = options_at({host.address()});
    options.deadline = std::chrono::milliseconds(300);
    const auto begun = Clock::now();
    const auto joined = Communicator::join(options);
    EXPECT_LT(Clock::now() - begun, std::chrono::seconds(15));
    ASSERT_FALSE(joined.has_value());
    EXPECT_EQ(joined.error().code, Code::deadline_exceeded) << joined.error().message;
    EXPECT_THAT(joined.error().message, HasSubstr(host.address()));
  }
}

// One switch has found that ranks differ. Before that, the other switch reports that a rank has
// left because of it.
TEST(JoinAtHostileHosts, AReasonCountsForMoreThanALossHeardBefore) {
  std::latch loss_is_told(1);
  const ScriptedHost tells_loss([&](join::testing::OtherEnd& rank) {
    tell_terms(rank);
    refuse(rank, v1::Refused::TOO_LATE, "rank 1 was lost while joining");
    loss_is_told.count_down();
  });
  const ScriptedHost tells_reason([&](join::testing::OtherEnd& rank) {
    tell_terms(rank);
    loss_is_told.wait();
    refuse(rank, v1::Refused::MISMATCH, "rank 1 has other sites");
  });
  const auto joined =
      Communicator::join(options_at({tells_loss.address(), tells_reason.address()}));
  ASSERT_FALSE(joined.has_value());
  EXPECT_EQ(joined.error().code, Code::mismatch);
  EXPECT_EQ(joined.error().message, "join: rank 1 has other sites");
}

// If one switch refuses, joining ends at the other switch as well, which is told why.
TEST(JoinAtHostileHosts, WhatOneSaysTheOtherHears) {
  std::string why;
  {
    const ScriptedHost listens([&](join::testing::OtherEnd& rank) {
      tell_terms(rank);
      v1::JoinRequest request;
      rank.hear(request);
      why = request.leave().why().message();
    });
    const ScriptedHost refuses([&](join::testing::OtherEnd& rank) {
      tell_terms(rank);
      refuse(rank, v1::Refused::MISMATCH, "rank 1 has other sites");
    });
    EXPECT_FALSE(Communicator::join(options_at({listens.address(), refuses.address()})));
  }
  EXPECT_EQ(why, "rank 1 has other sites");
}

}  // namespace
}  // namespace infold::testing
