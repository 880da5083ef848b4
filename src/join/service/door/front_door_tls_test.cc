// SPDX-License-Identifier: Apache-2.0
//
// Handshakes at the door: which begin, which wait, and which are turned away.
#include <array>
#include <chrono>
#include <memory>
#include <optional>
#include <poll.h>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/mutex.h"
#include "join/connection/other_end_testing.h"
#include "join/connection/tls_testing.h"
#include "join/service/door/front_door.h"

namespace infold::join::testing {
namespace {

using ::testing::HasSubstr;

// A rank's end that shakes hands over a socket.
class TlsOtherEnd {
 public:
  explicit TlsOtherEnd(const io::SocketAddress& there, const char* from = "127.0.0.1:0")
      : end_(there, from) {}

  bool begin() { return end_.say_bytes(raw_.answer()); }
  // Waits for the switch's answer, and sends the rest of the handshake. False: no such answer came.
  bool finish() {
    while (!SSL_is_init_finished(raw_.ssl())) {
      std::array<char, 4096> bytes;
      const ssize_t count = recv(end_.descriptor(), bytes.data(), bytes.size(), 0);
      if (count <= 0) return false;
      const std::string answer = raw_.answer({bytes.data(), static_cast<std::size_t>(count)});
      if (SSL_is_init_finished(raw_.ssl()) || !answer.empty()) end_.say_bytes(answer);
    }
    return true;
  }
  bool say_hello(const std::string& job) {
    v1::JoinRequest request;
    request.mutable_hello()->set_job(job);
    return end_.say_bytes(raw_.say(frame_of(request) + keepalive()));
  }
  OtherEnd& plain() { return end_; }

 private:
  OtherEnd end_;
  RawEnd raw_;
};

class TlsDoor {
 public:
  explicit TlsDoor(const ConnectionLimits& limits, base::Duration silence_max = base::seconds(600))
      : gate_(limits, [this](const JoinEvent& event) { note(event); }) {
    door_ = std::move(*FrontDoor::listen(*io::SocketAddress::parse("127.0.0.1:0", "test"), gate_,
                                         silence_max, *TlsContext::of_switch(own_identity())));
    door_->start({[this](Arrival arrival) {
                    const base::MutexLock lock(mutex_);
                    arrivals_.push_back(std::move(arrival));
                    changed_.notify_all();
                  },
                  [this](const JoinEvent& event) { note(event); }});
  }

  io::SocketAddress address() const { return door_->address(); }

  Arrival next() {
    base::MutexLock lock(mutex_);
    while (arrivals_.empty()) changed_.wait(lock);
    Arrival arrival = std::move(arrivals_.front());
    arrivals_.erase(arrivals_.begin());
    return arrival;
  }
  std::string event() {
    base::MutexLock lock(mutex_);
    while (events_.empty()) changed_.wait(lock);
    return events_.front();
  }
  bool has_arrivals() {
    const base::MutexLock lock(mutex_);
    return !arrivals_.empty();
  }
  void stop() { door_->stop(); }

 private:
  void note(const JoinEvent& event) {
    const base::MutexLock lock(mutex_);
    events_.push_back(event.reason);
    changed_.notify_all();
  }

  base::Mutex mutex_;
  base::ConditionVariable changed_;
  std::vector<Arrival> arrivals_ GUARDED_BY(mutex_);
  std::vector<std::string> events_ GUARDED_BY(mutex_);
  ConnectionGate gate_;
  std::unique_ptr<FrontDoor> door_;  // the last, because its thread uses the others
};

TEST(FrontDoorTls, HandsOnTheSessionOfARank) {
  TlsDoor door({});
  TlsOtherEnd rank(door.address());
  ASSERT_TRUE(rank.begin() && rank.finish() && rank.say_hello("job"));
  const Arrival arrival = door.next();
  EXPECT_EQ(arrival.hello.hello().job(), "job");
  EXPECT_EQ(arrival.rest, keepalive());
  ASSERT_TRUE(arrival.tls && arrival.tls->is_open());
}

// Those that hold the only place say nothing more; the one that waits gets it when they go.
TEST(FrontDoorTls, AHandshakeWaitsForAPlace) {
  ConnectionLimits limits;
  limits.handshakes_open_max = limits.handshakes_open_of_address_max = 1;
  TlsDoor door(limits);
  std::optional<TlsOtherEnd> first(std::in_place, door.address());
  ASSERT_TRUE(first->begin());
  char byte = 0;
  ASSERT_EQ(recv(first->plain().descriptor(), &byte, 1, MSG_PEEK), 1) << "it has its place";
  TlsOtherEnd second(door.address()), third(door.address());
  ASSERT_TRUE(second.begin() && third.begin());
  // The door has answered what came after them, so it has also heard of them.
  OtherEnd later(door.address());
  ASSERT_TRUE(later.say_bytes(keepalive()));
  EXPECT_TRUE(later.hear().has_refused());
  for (TlsOtherEnd* const each : {&second, &third}) {
    pollfd answered = {each->plain().descriptor(), POLLIN, 0};
    EXPECT_EQ(poll(&answered, 1, 0), 0);
  }
  first.reset();
  ASSERT_TRUE(second.finish() && second.say_hello("second"));
  EXPECT_EQ(door.next().hello.hello().job(), "second");
  ASSERT_TRUE(third.finish() && third.say_hello("third"));
  EXPECT_EQ(door.next().hello.hello().job(), "third");
}

TEST(FrontDoorTls, AnAddressThatHoldsItsPlacesDoesNotHoldUpAnother) {
  ConnectionLimits limits;
  limits.handshakes_open_max = 3;
  limits.handshakes_open_of_address_max = 2;
  TlsDoor door(limits);
  std::vector<std::unique_ptr<TlsOtherEnd>> held;
  for (int i = 0; i < 20; ++i) {
    held.push_back(std::make_unique<TlsOtherEnd>(door.address()));
    ASSERT_TRUE(held.back()->begin());
  }
  for (int i = 0; i < 5; ++i) {
    TlsOtherEnd other(door.address(), "127.0.0.2:0");
    ASSERT_TRUE(other.begin() && other.finish() && other.say_hello("other"));
    EXPECT_EQ(door.next().hello.hello().job(), "other");
  }
}

TEST(FrontDoorTls, AnAddressThatBeginsHandshakesWithoutEndIsTurnedAway) {
  ConnectionLimits limits;
  limits.handshakes_of_address_at_once = 2;
  limits.handshakes_of_address_per_second = 1;
  TlsDoor door(limits);
  int turned_away = 0;
  for (int i = 0; i < 20 && turned_away == 0; ++i) {
    TlsOtherEnd rank(door.address());
    ASSERT_TRUE(rank.begin());
    std::string head(7, 'x');
    const ssize_t bytes = recv(rank.plain().descriptor(), head.data(), head.size(), MSG_WAITALL);
    if (bytes == 7 && head == tls_alert(80)) ++turned_away;
  }
  EXPECT_EQ(turned_away, 1);
  EXPECT_THAT(door.event(), HasSubstr("more than 1 TLS handshakes a second are begun from"));
}

TEST(FrontDoorTls, HandshakesThatStopAreClosedInTime) {
  ConnectionLimits limits;
  limits.handshakes_open_max = limits.handshakes_open_of_address_max = 2;
  TlsDoor door(limits, base::seconds(2));
  TlsOtherEnd silent(door.address()), begun(door.address()), open(door.address()),
      waits(door.address());
  ASSERT_TRUE(begun.begin());
  ASSERT_TRUE(open.begin() && open.finish());
  ASSERT_TRUE(waits.begin());
  for (TlsOtherEnd* const each : {&silent, &begun, &open, &waits}) each->plain().drain();
  TlsOtherEnd late(door.address());
  ASSERT_TRUE(late.begin() && late.finish() && late.say_hello("late"));
  EXPECT_EQ(door.next().hello.hello().job(), "late");
}

// The door may stop while handshakes have places, wait for them, or just got them.
TEST(FrontDoorTls, StoppingClosesAllHandshakes) {
  ConnectionLimits limits;
  limits.handshakes_open_max = limits.handshakes_open_of_address_max = 2;
  TlsDoor door(limits);
  std::vector<std::unique_ptr<TlsOtherEnd>> held;
  for (int i = 0; i < 10; ++i) {
    held.push_back(std::make_unique<TlsOtherEnd>(door.address()));
    ASSERT_TRUE(held.back()->begin());
  }
  char byte = 0;
  ASSERT_EQ(recv(held.front()->plain().descriptor(), &byte, 1, MSG_PEEK), 1);
  held.erase(held.begin());
  door.stop();
  for (const auto& each : held) each->plain().drain();
  EXPECT_FALSE(door.has_arrivals());
}

}  // namespace
}  // namespace infold::join::testing
