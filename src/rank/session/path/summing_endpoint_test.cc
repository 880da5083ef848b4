// SPDX-License-Identifier: Apache-2.0
#include "rank/session/path/summing_endpoint.h"

#include <array>
#include <atomic>
#include <chrono>
#include <future>
#include <memory>
#include <optional>
#include <span>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "api/joining/join.h"
#include "api/joining/join_testing.h"
#include "io/forwarding_endpoint.h"
#include "io/host/clock.h"
#include "numeric/codec.h"

namespace infold::testing {
namespace {

using rank::SummingEndpoint;
using site::AggregationSite;
using Datagram = std::array<std::byte, INFOLD_HEADER_BYTES>;

constexpr std::uint16_t kJob = 3;
constexpr io::Neighbour kOwn{0};

io::UdpSocket open_socket() {
  io::UdpOptions udp;
  udp.bind = *io::SocketAddress::parse("127.0.0.1:0", "test");
  return std::move(*io::UdpSocket::open(udp));
}

// A worker's contribution to a barrier.
Datagram part_of(std::uint8_t worker, std::uint16_t slot = 0) {
  core::Header header;
  header.kind = core::Kind::skip;
  header.worker = worker;
  header.job = kJob;
  header.epoch = 7;
  header.slot = slot;
  header.round = 1;
  header.signature.operation = static_cast<std::uint8_t>(core::Collective::barrier) << 4;
  Datagram datagram;
  core::write_header(header, datagram);
  return datagram;
}

core::Kind kind_of(std::span<const std::byte> datagram) {
  core::Packet packet;
  EXPECT_EQ(core::parse(datagram, packet), core::Malformed::none);
  return packet.header.kind;
}

// The endpoint of one worker of a job. The other workers are plain sockets.
class Rank {
 public:
  Rank(std::uint16_t world, std::uint8_t own) {
    auto site = std::make_unique<AggregationSite>(open_socket());
    address_[0] = site->address();
    core::AggregatorOptions options;
    options.job = kJob;
    options.epoch = 7;
    options.slot_count = 8;
    options.world = world;
    for (std::uint16_t rank = 0; rank < world; ++rank) options.workers.push_back({rank, 1});
    auto job = std::make_unique<AggregationSite::Job>(options, std::uint16_t{4});
    site->swap_job(kJob, job);
    site->adopt(kJob, own);
    endpoint_.emplace(std::make_unique<io::UdpEndpoint>(open_socket(), std::vector{address_[0]}),
                      std::move(site), kOwn);
  }

  SummingEndpoint& endpoint() { return *endpoint_; }

  void contribute_from(io::UdpSocket& remote, std::span<const std::byte> datagram) {
    remote.send(address_, datagram);
    remote.flush();
  }
  void contribute(std::span<const std::byte> datagram) {
    const std::span<std::byte> place = endpoint_->place();
    std::copy(datagram.begin(), datagram.end(), place.begin());
    endpoint_->send(kOwn, place.first(datagram.size()));
    endpoint_->flush();
  }
  // The answers at the endpoint, once this many datagrams have been served for others.
  std::vector<core::Kind> answers_after(std::size_t served) {
    std::vector<core::Kind> kinds;
    const base::Instant limit = io::monotonic_now() + base::seconds(10);
    for (std::size_t so_far = 0; io::monotonic_now() < limit;) {
      for (const io::Received& each : endpoint_->receive()) {
        EXPECT_EQ(each.from, kOwn);
        kinds.push_back(kind_of(each.datagram));
      }
      so_far += *endpoint_->served();
      if (so_far >= served) return kinds;
      endpoint_->wait(limit);
    }
    ADD_FAILURE() << "nothing came";
    return kinds;
  }

 private:
  std::array<io::SocketAddress, 1> address_;
  std::optional<SummingEndpoint> endpoint_;
};

// Waits for at least one answer.
std::vector<core::Kind> answers_at(io::UdpSocket& remote) {
  std::vector<core::Kind> kinds;
  const base::Instant limit = io::monotonic_now() + base::seconds(10);
  while (kinds.empty() && io::monotonic_now() < limit) {
    remote.wait(limit);
    for (const auto& arrival : remote.receive()) kinds.push_back(kind_of(arrival.datagram));
  }
  return kinds;
}

using Kinds = std::vector<core::Kind>;

TEST(SummingEndpoint, AnswersItsOwnWorkerAndOthers) {
  Rank rank(2, 0);
  io::UdpSocket remote = open_socket();
  rank.contribute(part_of(0));
  EXPECT_TRUE(rank.endpoint().receive().empty());
  rank.contribute_from(remote, part_of(1));
  EXPECT_EQ(rank.answers_after(1), Kinds{core::Kind::result});
  EXPECT_EQ(answers_at(remote), Kinds{core::Kind::result});
  EXPECT_TRUE(rank.endpoint().receive().empty()) << "answered twice";
  EXPECT_EQ(rank.endpoint().counters().sent, 1U);
}

TEST(SummingEndpoint, CompletesAChunkItself) {
  Rank rank(2, 1);
  io::UdpSocket remote = open_socket();
  rank.contribute_from(remote, part_of(0));
  EXPECT_TRUE(rank.answers_after(1).empty());
  rank.contribute(part_of(1));
  EXPECT_EQ(answers_at(remote), Kinds{core::Kind::result});
  EXPECT_EQ(rank.answers_after(0), Kinds{core::Kind::result});
}

// The rank's own worker does not have an address, but the other workers must still be told apart.
TEST(SummingEndpoint, AnswersEachWorkerWhereItIs) {
  for (std::uint8_t own = 0; own < 4; ++own) {
    Rank rank(4, own);
    std::vector<io::UdpSocket> remotes;
    std::vector<std::uint8_t> numbers;
    for (std::uint8_t worker = 0; worker < 4; ++worker) {
      if (worker == own) continue;
      numbers.push_back(worker);
      remotes.push_back(open_socket());
    }
    for (std::size_t i = 0; i < 3; ++i) {
      rank.contribute_from(remotes[i], part_of(numbers[i]));
      rank.contribute_from(remotes[i], part_of(numbers[i]));  // the repeat also asks for the result
      EXPECT_TRUE(rank.answers_after(2).empty());
      EXPECT_EQ(answers_at(remotes[i]), Kinds{core::Kind::pending}) << int{numbers[i]};
      for (io::UdpSocket& other : remotes) EXPECT_TRUE(other.receive().empty());
    }
    rank.contribute(part_of(own));
    EXPECT_EQ(rank.answers_after(0), Kinds{core::Kind::result});
    for (io::UdpSocket& remote : remotes) EXPECT_EQ(answers_at(remote), Kinds{core::Kind::result});
  }
}

TEST(SummingEndpoint, TakesNothingFromOthersInTheNameOfItsOwnWorker) {
  Rank rank(2, 0);
  io::UdpSocket forger = open_socket();
  io::UdpSocket remote = open_socket();
  rank.contribute_from(forger, part_of(0));
  EXPECT_TRUE(rank.answers_after(1).empty());
  rank.contribute_from(remote, part_of(1));
  EXPECT_TRUE(rank.answers_after(1).empty()) << "the forger's part was taken";
  rank.contribute(part_of(0));
  EXPECT_EQ(answers_at(remote), Kinds{core::Kind::result});
  EXPECT_EQ(rank.answers_after(0), Kinds{core::Kind::result});
  EXPECT_TRUE(forger.receive().empty());
}

TEST(SummingEndpoint, WakesWhoeverWaitsForWhatASenderCompletes) {
  Rank rank(1, 0);
  for (std::uint16_t slot = 0; slot < 8; ++slot) {
    auto answered = std::async(std::launch::async, [&] {
      const base::Instant limit = io::monotonic_now() + base::seconds(20);
      while (io::monotonic_now() < limit) {
        rank.endpoint().wait(limit);
        if (rank.endpoint().receive().size() == 1) return true;
      }
      return false;
    });
    rank.contribute(part_of(0, slot));
    EXPECT_TRUE(answered.get());
  }
}

struct Hearing {
  std::atomic<bool> works = false;
  std::atomic<bool> has_lost = false;  // lost something from the first site
};

// Loses all packets that arrive until it hears.
class DeafEndpoint final : public io::ForwardingEndpoint {
 public:
  DeafEndpoint(std::unique_ptr<io::Endpoint> endpoint, Hearing& hearing)
      : ForwardingEndpoint(std::move(endpoint)), hearing_(hearing) {}

  std::span<const io::Received> receive() override {
    const std::span<const io::Received> batch = ForwardingEndpoint::receive();
    if (hearing_.works) return batch;
    for (const io::Received& each : batch) {
      if (each.from == io::Neighbour{0}) hearing_.has_lost = true;
    }
    hearing_.has_lost.notify_all();
    return {};
  }

 private:
  Hearing& hearing_;
};

// A rank that has its sum and makes no further call still repeats the sum to a rank that lacks it.
TEST(SummingEndpoint, IsServedBetweenCalls) {
  JoinOptions options = options_of(0, 2);
  options.sites = Sites::workers;
  options.rendezvous = free_address();
  options.shared_memory = SharedMemory::off;
  Hearing hearing;
  std::promise<void> both_are_done;
  const auto sum_on = [&](int rank, const api::EndpointWrap& wrap, const auto& after) {
    JoinOptions own = options;
    own.rank = rank;
    const auto member = api::join_through(own, wrap);
    ASSERT_TRUE(member.has_value()) << member.error().message;
    Communicator communicator(*member);
    std::vector<float> tensor(1000, 1);
    const auto done = communicator.all_reduce(tensor).wait();
    ASSERT_TRUE(done.has_value()) << done.error().message;
    EXPECT_EQ(tensor[999], 2.0F);
    after();
  };
  std::thread first([&] {
    sum_on(0, {}, [&] {
      hearing.has_lost.wait(false);
      hearing.works = true;
      both_are_done.get_future().wait_for(std::chrono::seconds(20));
    });
  });
  const auto deafen = [&hearing](std::unique_ptr<io::Endpoint> endpoint) {
    return std::make_unique<DeafEndpoint>(std::move(endpoint), hearing);
  };
  sum_on(1, deafen, [&] { both_are_done.set_value(); });
  first.join();
}

}  // namespace
}  // namespace infold::testing
