// SPDX-License-Identifier: Apache-2.0
//
// Hosts that answer nothing, or nothing that makes sense: a rank's joining ends within its
// deadline, and with the reason. Limits of time are for busy machines; a link that waits for ever
// fails them.
#include <atomic>
#include <chrono>
#include <netinet/in.h>
#include <optional>
#include <string>
#include <sys/socket.h>
#include <thread>
#include <utility>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "io/host/file_descriptor.h"
#include "join/client/job_answers_testing.h"
#include "join/client/job_link.h"
#include "join/registry/testing.h"

namespace infold::join::testing {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::HasSubstr;
using Clock = std::chrono::steady_clock;
using Joined = Answer<std::unique_ptr<JobLink>>;

constexpr auto kPatience = milliseconds(300);
constexpr auto kInTime = seconds(15);

Hello impatient() {
  Hello own = hello_of(0, 4);
  own.patience = kPatience;
  return own;
}

// Takes connections into its queue and says nothing.
class SilentListener {
 public:
  SilentListener() {
    sockaddr_in own = {};
    own.sin_family = AF_INET;
    own.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t bytes = sizeof(own);
    EXPECT_EQ(bind(fd_.get(), reinterpret_cast<sockaddr*>(&own), bytes), 0);
    EXPECT_EQ(listen(fd_.get(), 8), 0);
    EXPECT_EQ(getsockname(fd_.get(), reinterpret_cast<sockaddr*>(&own), &bytes), 0);
    address_ = "127.0.0.1:" + std::to_string(ntohs(own.sin_port));
  }
  const std::string& address() const { return address_; }

 private:
  const io::FileDescriptor fd_{socket(AF_INET, SOCK_STREAM, 0)};
  std::string address_;
};

void tell_terms_and_stay(OtherEnd& rank) {
  rank.say(joined_reply());
  stay_silent(rank);
}

TEST(HostileHost, OneThatAcceptsAndIsSilentIsGivenUpInTime) {
  const SilentListener host;
  const auto begun = Clock::now();
  const Joined joined = JobLink::join(host.address(), impatient(), {});
  EXPECT_LT(Clock::now() - begun, kInTime);
  ASSERT_FALSE(joined.has_value());
  EXPECT_EQ(joined.error().reason, RefusalReason::too_late);
  EXPECT_THAT(joined.error().message, HasSubstr("no answer from " + host.address()));
}

TEST(HostileHost, OneThatIsSilentIsGivenUpWithTheDeadlineOfConnecting) {
  const SilentListener host;
  JobLink::Limits limits;
  limits.connects_by = Clock::now() + kPatience;
  const Joined joined = JobLink::join(host.address(), hello_of(0, 4), limits);  // patience: 20 s
  EXPECT_LT(Clock::now() - limits.connects_by, kInTime);
  ASSERT_FALSE(joined.has_value());
  EXPECT_THAT(joined.error().message, HasSubstr("no answer from"));
}

TEST(HostileHost, ARankThatIsNotThereIsAskedFor) {
  JobLink::Limits limits;
  limits.is_at_rank = true;
  const std::string address = SilentListener().address();  // which is closed again
  EXPECT_THAT(JobLink::join(address, impatient(), limits).error().message,
              HasSubstr("s: has rank 0 started, and does a firewall let TCP through?"));
}

TEST(HostileHost, OneThatLivesAndSaysNothingIsGivenUpInTime) {
  const ScriptedHost host([](OtherEnd& rank) {
    rank.say_bytes(keepalive());
    stay_silent(rank);
  });
  const auto begun = Clock::now();
  const Joined joined = JobLink::join(host.address(), impatient(), {});
  EXPECT_LT(Clock::now() - begun, kInTime);
  ASSERT_FALSE(joined.has_value());
  EXPECT_EQ(joined.error().reason, RefusalReason::too_late);
  EXPECT_THAT(joined.error().message, HasSubstr(host.address() + " has not said for"));
}

TEST(HostileHost, OneThatIsSilentAfterReadyIsGivenUpInTime) {
  const ScriptedHost host(tell_terms_and_stay);
  const auto begun = Clock::now();
  const Joined joined = JobLink::join(host.address(), impatient(), {});
  ASSERT_TRUE(joined.has_value()) << joined.error().message;
  const Answer<void> ready = (*joined)->ready({});
  EXPECT_LT(Clock::now() - begun, kInTime);
  ASSERT_FALSE(ready.has_value());
  EXPECT_EQ(ready.error().reason, RefusalReason::too_late);
  EXPECT_THAT(ready.error().message, HasSubstr("that all ranks can start"));
}

TEST(HostileHost, OneThatStopsInTheMiddleIsNamed) {
  const ScriptedHost at_once([](OtherEnd&) {});
  const Joined never = JobLink::join(at_once.address(), hello_of(0, 4), {});
  ASSERT_FALSE(never.has_value());
  EXPECT_THAT(never.error().message,
              HasSubstr("the connection to " + at_once.address() + " broke while joining"));

  const ScriptedHost later([](OtherEnd& rank) { rank.say(joined_reply()); });
  const Joined joined = JobLink::join(later.address(), hello_of(0, 4), {});
  ASSERT_TRUE(joined.has_value()) << joined.error().message;
  EXPECT_THAT((*joined)->ready({}).error().message, HasSubstr("broke while joining"));
}

TEST(HostileHost, NonsenseIsNamed) {
  const ScriptedHost go([](OtherEnd& rank) {
    rank.say(go_reply());
    stay_silent(rank);
  });
  const Joined first = JobLink::join(go.address(), hello_of(0, 4), {});
  ASSERT_FALSE(first.has_value());
  EXPECT_EQ(first.error().reason, RefusalReason::broken);
  EXPECT_THAT(first.error().message, HasSubstr("answered Go where Joined comes next"));

  const ScriptedHost spoilt([](OtherEnd& rank) {
    v1::JoinReply reply = joined_reply();
    reply.mutable_joined()->set_elements_max(1);
    rank.say(reply);
    stay_silent(rank);
  });
  EXPECT_THAT(JobLink::join(spoilt.address(), hello_of(0, 4), {}).error().message,
              HasSubstr("answered Joined.datagram_bytes_max of 1472 and elements_max of 1"));

  const ScriptedHost large([](OtherEnd& rank) {
    v1::JoinReply reply = joined_reply();
    reply.mutable_joined()->set_parent(std::string(1 << 20, 'p'));
    rank.say(reply);
    stay_silent(rank);
  });
  EXPECT_THAT(JobLink::join(large.address(), hello_of(0, 4), {}).error().message,
              HasSubstr("broke while joining (it announced a message of 1048"));
}

TEST(HostileHost, OneThatAnswersWithoutEndIsLeft) {
  const ScriptedHost host([](OtherEnd& rank) {
    rank.say(joined_reply());
    while (rank.say(go_reply())) {
    }
  });
  for (int i = 0; i < 20; ++i) {
    const Joined joined = JobLink::join(host.address(), hello_of(0, 4), {});
    if (joined) (*joined)->ready({});
  }
}

// The rank gives up once `waits` says that it waits.
void expect_given_up(const std::string& address, std::atomic<bool>& waits) {
  std::stop_source stop;
  JobLink::Limits limits;
  limits.stop = stop.get_token();
  const auto begun = Clock::now();
  std::thread stops([&] {
    waits.wait(false);
    stop.request_stop();
  });
  const Joined joined = JobLink::join(address, hello_of(0, 4), limits);
  const Answer<void> ready = joined ? (*joined)->ready({}) : tl::unexpected(joined.error());
  stops.join();
  ASSERT_FALSE(ready.has_value());
  EXPECT_EQ(ready.error().reason, RefusalReason::given_up) << ready.error().message;
  EXPECT_LT(Clock::now() - begun, kInTime);
}

TEST(HostileHost, AWaitForItsFirstWordCanBeGivenUp) {
  std::atomic<bool> waits = false;
  const ScriptedHost host([&waits](OtherEnd& rank) {
    v1::JoinRequest hello;
    rank.hear(hello);
    waits = true;
    waits.notify_all();
    stay_silent(rank);
  });
  expect_given_up(host.address(), waits);
}

TEST(HostileHost, AWaitForItsGoCanBeGivenUp) {
  std::atomic<bool> waits = false;
  const ScriptedHost host([&waits](OtherEnd& rank) {
    v1::JoinRequest request;
    rank.hear(request);
    rank.say(joined_reply());
    rank.hear(request);
    waits = true;
    waits.notify_all();
    stay_silent(rank);
  });
  expect_given_up(host.address(), waits);
}

TEST(HostileHost, AWaitForAConnectionCanBeGivenUp) {
  const std::string address = SilentListener().address();  // which is closed again
  std::atomic<bool> waits = true;
  expect_given_up(address, waits);
}

// Other ranks are to hear the refusal that this one got elsewhere.
TEST(HostileHost, WhyARankGivesUpIsSaid) {
  std::string why;
  std::optional<ScriptedHost> host(std::in_place, [&why](OtherEnd& rank) {
    v1::JoinRequest request;
    rank.hear(request);
    rank.say(joined_reply());
    rank.hear(request);
    why = request.leave().why().message();
  });
  const Joined joined = JobLink::join(host->address(), hello_of(0, 4), {});
  ASSERT_TRUE(joined.has_value()) << joined.error().message;
  (*joined)->give_up({RefusalReason::mismatch, "rank 1 differs", 1});
  host.reset();  // its thread has written
  EXPECT_EQ(why, "rank 1 differs");
}

// The end of a job that ends before it is watched is kept for the watcher.
TEST(HostileHost, AnEndThatIsEarlyIsTold) {
  const ScriptedHost host([](OtherEnd& rank) {
    rank.say(joined_reply());
    v1::JoinRequest request;
    rank.hear(request);
    rank.hear(request);
    rank.say(go_reply());
    v1::JoinReply ended;
    ended.mutable_ended()->set_reason(v1::Ended::RANK_LOST);
    ended.mutable_ended()->set_rank(3);
    rank.say(ended);
    stay_silent(rank);
  });
  const Joined joined = JobLink::join(host.address(), hello_of(0, 4), {});
  ASSERT_TRUE(joined.has_value()) << joined.error().message;
  ASSERT_TRUE((*joined)->ready({}).has_value());
  std::atomic<int> lost = -1;
  (*joined)->watch([&lost](const JobEnd& end) { lost = static_cast<int>(end.lost_rank.value()); });
  const auto end = Clock::now() + kInTime;
  while (lost < 0 && Clock::now() < end) std::this_thread::yield();
  EXPECT_EQ(lost, 3);
}

}  // namespace
}  // namespace infold::join::testing
