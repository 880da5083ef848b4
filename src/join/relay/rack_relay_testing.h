// SPDX-License-Identifier: Apache-2.0
//
// For tests of relays: a parent's registry, the relays of two racks with real connections to it,
// and ranks that join at the relays.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/mutex.h"
#include "join/client/job_link.h"
#include "join/registry/job_registry.h"
#include "join/registry/testing.h"
#include "join/relay/rack_relay.h"
#include "join/service/join_server.h"

namespace infold::join::testing {

class FakeUplink final : public Uplink {
 public:
  Answer<std::uint32_t> datagram_bytes_max() const override { return bytes; }
  Answer<void> reach(const std::vector<std::string>& sites, std::uint32_t) override {
    const base::MutexLock lock(mutex_);
    reached_ = sites;
    if (refusal_) return tl::unexpected(*refusal_);
    return {};
  }

  std::atomic<std::uint32_t> bytes = 8972;
  void refuse(const Refusal& refusal) {
    const base::MutexLock lock(mutex_);
    refusal_ = refusal;
  }
  std::vector<std::string> reached() const {
    const base::MutexLock lock(mutex_);
    return reached_;
  }

 private:
  mutable base::Mutex mutex_;
  std::optional<Refusal> refusal_ GUARDED_BY(mutex_);
  std::vector<std::string> reached_ GUARDED_BY(mutex_);
};

inline const io::SocketAddress kAnyPort = *io::SocketAddress::parse("127.0.0.1:0", "test");

struct Root {
  explicit Root(std::size_t sites, const io::SocketAddress& at = kAnyPort)
      : plane(sites), registry(&plane), server(std::move(*JoinServer::start(at, registry))) {}
  std::string address() const { return server->address().text(); }

  FakePlane plane;
  JobRegistry registry;
  std::unique_ptr<JoinServer> server;
};

struct Leaf {
  Leaf(const std::string& parent, const std::string& name, std::size_t sites,
       const io::SocketAddress& source = {})
      : plane(sites),
        relay(plane, uplink,
              {*io::SocketAddress::parse_number(parent, "test"), name, "life of " + name, source}),
        server(std::move(*JoinServer::start(kAnyPort, relay))) {}
  std::string address() const { return server->address().text(); }

  FakePlane plane;
  FakeUplink uplink;
  RackRelay relay;
  std::unique_ptr<JoinServer> server;
};

// One rank's link and the answers on it.
struct Member {
  std::unique_ptr<JobLink> link;
  std::optional<Refusal> refusal;
  std::atomic<bool> told{false};
  JobEnd end;
};

class Relay : public ::testing::Test {
 protected:
  void start(std::size_t root_sites = 2, std::size_t a_sites = 2, std::size_t b_sites = 2) {
    root_ = std::make_unique<Root>(root_sites);
    a_ = std::make_unique<Leaf>(root_->address(), "rack-a:1", a_sites);
    b_ = std::make_unique<Leaf>(root_->address(), "rack-b:1", b_sites);
  }

  // Lets ranks 0, 1, ... join at these addresses, each on its own thread, up to and including
  // ready().
  void join(const std::vector<std::string>& places,
            const std::function<void(Hello&)>& change = {}) {
    members_.clear();
    for (std::size_t rank = 0; rank < places.size(); ++rank) {
      members_.push_back(std::make_unique<Member>());
    }
    std::vector<std::thread> threads;
    for (std::size_t rank = 0; rank < places.size(); ++rank) {
      threads.emplace_back([&, rank] { enter(*members_[rank], places, rank, change); });
    }
    for (std::thread& thread : threads) thread.join();
  }
  static void enter(Member& member, const std::vector<std::string>& places, std::size_t rank,
                    const std::function<void(Hello&)>& change) {
    Hello own = hello_of(rank, places.size());
    if (change) change(own);
    auto link = JobLink::join(places[rank], own, {});
    if (!link) {
      member.refusal = link.error();
      return;
    }
    const ReadyReport ready = {own.host.has_value(), 7, {}, 0, 0, {}};
    if (const Answer<void> answer = (*link)->ready(ready); !answer) {
      member.refusal = answer.error();
      return;
    }
    member.link = std::move(*link);
    member.link->watch([&member](const JobEnd& end) {
      member.end = end;
      member.told = true;
    });
  }
  void expect_refused(RefusalReason reason, const std::string& text) {
    for (const auto& member : members_) {
      ASSERT_TRUE(member->refusal.has_value());
      EXPECT_EQ(member->refusal->reason, reason) << member->refusal->message;
      EXPECT_THAT(member->refusal->message, ::testing::HasSubstr(text));
    }
  }
  bool all_joined() {
    for (const auto& member : members_) {
      EXPECT_FALSE(member->refusal.has_value()) << member->refusal->message;
      if (member->refusal) return false;
    }
    return true;
  }
  static void wait_for(const std::function<bool()>& condition) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    while (!condition() && std::chrono::steady_clock::now() < end) std::this_thread::yield();
    ASSERT_TRUE(condition());
  }
  std::vector<std::string> two_and_two() const {
    return {a_->address(), a_->address(), b_->address(), b_->address()};
  }

  std::unique_ptr<Root> root_;
  std::unique_ptr<Leaf> a_, b_;
  std::vector<std::unique_ptr<Member>> members_;
};

}  // namespace infold::join::testing
