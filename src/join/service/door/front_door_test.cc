// SPDX-License-Identifier: Apache-2.0
//
// The test takes the arrivals. join_server_test.cc has a whole server.
#include "join/service/door/front_door.h"

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/mutex.h"
#include "join/connection/other_end_testing.h"

namespace infold::join::testing {
namespace {

using ::testing::HasSubstr;

v1::JoinRequest hello_for(const std::string& job) {
  v1::JoinRequest request;
  request.mutable_hello()->set_job(job);
  return request;
}

class FrontDoorTest : public ::testing::Test {
 protected:
  FrontDoorTest() {
    const EventListener on_event = [](const JoinEvent&) {};
    gate_ = std::make_unique<ConnectionGate>(ConnectionLimits{}, on_event);
    door_ = std::move(*FrontDoor::listen(*io::SocketAddress::parse("127.0.0.1:0", "test"), *gate_,
                                         base::seconds(60)));
    door_->start({[this](Arrival arrival) {
                    const base::MutexLock lock(mutex_);
                    arrivals_.push_back(std::move(arrival));
                    changed_.notify_all();
                  },
                  on_event});
  }

  Arrival next() {
    base::MutexLock lock(mutex_);
    while (arrivals_.empty()) changed_.wait(lock);
    Arrival arrival = std::move(arrivals_.front());
    arrivals_.erase(arrivals_.begin());
    return arrival;
  }

  base::Mutex mutex_;
  base::ConditionVariable changed_;
  std::vector<Arrival> arrivals_ GUARDED_BY(mutex_);
  std::unique_ptr<ConnectionGate> gate_;
  std::unique_ptr<FrontDoor> door_;  // the last, because its thread uses the others
};

TEST_F(FrontDoorTest, HandsOnARankWithWhatFollowsItsHello) {
  const OtherEnd rank(door_->address());
  ASSERT_TRUE(rank.say_bytes(frame_of(hello_for("job")) + keepalive()));
  const Arrival arrival = next();
  EXPECT_EQ(arrival.hello.hello().job(), "job");
  EXPECT_EQ(arrival.address, "127.0.0.1");
  EXPECT_EQ(arrival.rest, keepalive());
}

TEST_F(FrontDoorTest, TakesAHelloByteByByteBesideOthers) {
  const OtherEnd slow(door_->address());
  const std::string frame = frame_of(hello_for("slow"));
  ASSERT_TRUE(slow.say_bytes(frame.substr(0, frame.size() - 1)));
  const OtherEnd quick(door_->address());
  ASSERT_TRUE(quick.say(hello_for("quick")));
  EXPECT_EQ(next().hello.hello().job(), "quick");
  ASSERT_TRUE(slow.say_bytes(frame.substr(frame.size() - 1)));
  EXPECT_EQ(next().hello.hello().job(), "slow");
}

TEST_F(FrontDoorTest, StoppingClosesThoseThatHaveNotSaidHello) {
  OtherEnd silent(door_->address());
  const OtherEnd rank(door_->address());
  ASSERT_TRUE(rank.say(hello_for("job")));
  next();  // both are accepted
  const io::SocketAddress address = door_->address();
  door_->stop();
  EXPECT_TRUE(silent.hears_the_end());
  OtherEnd late(address);
  EXPECT_FALSE(late.is_open());
}

}  // namespace
}  // namespace infold::join::testing
