// SPDX-License-Identifier: Apache-2.0
//
// Tests ranks of one host that sum for each other, with all their endpoints in one process.
#include "rank/session/host/summing_memory_endpoint.h"

#include <cstring>
#include <map>
#include <thread>

#include <gtest/gtest.h>

#include "core/packet/packet.h"
#include "io/host/clock.h"

namespace infold::rank {
namespace {

constexpr std::uint16_t kRanks = 3;
constexpr std::uint16_t kSites = 2;
constexpr io::QueueShape kShape = {.places = 16,
                                   .datagram_bytes_max = INFOLD_HEADER_BYTES + 8192,
                                   .channels = SummingMemoryEndpoint::channel_count};

class SummingInMemory : public testing::TestWithParam<std::uint16_t> {
 protected:
  SummingInMemory() {
    std::vector<io::Doorbell> bells;
    for (int rank = 0; rank < kRanks; ++rank) bells.push_back(*io::Doorbell::open());
    std::vector<std::vector<io::SharedMemoryLink>> links(kRanks);
    for (std::size_t one = 0; one < kSites; ++one) {
      for (std::size_t other = one + 1; other < kRanks; ++other) {
        const auto memory = std::make_shared<io::SharedMemory>(
            *io::SharedMemory::create(io::SharedMemoryLink::memory_bytes(kShape)));
        links[one].push_back({memory, io::SharedMemoryLink::Side::host, *bells[other].share()});
        links[other].push_back({memory, io::SharedMemoryLink::Side::member, *bells[one].share()});
      }
    }
    for (std::uint16_t rank = 0; rank < kRanks; ++rank) {
      std::optional<core::AggregatorOptions> site;
      if (rank < kSites) site = options();
      ranks_.push_back(std::make_unique<SummingMemoryEndpoint>(
          std::make_unique<io::SharedMemoryEndpoint>(std::move(bells[rank]), kShape,
                                                     std::move(links[rank])),
          rank, site));
    }
  }

  static core::AggregatorOptions options() {
    core::AggregatorOptions options;
    options.job = 7;
    options.slot_count = 2;
    options.world = kRanks;
    for (std::uint16_t rank = 0; rank < kRanks; ++rank) options.workers.push_back({rank, 1});
    options.datagram_bytes_max = kShape.datagram_bytes_max;
    return options;
  }

  // A contribution to the slot's first chunk whose integers are all `value`.
  static std::vector<std::byte> contribution(std::uint16_t worker, std::uint16_t slot,
                                             std::int32_t value) {
    core::Header header;
    header.job = 7;
    header.worker = static_cast<std::uint8_t>(worker);
    header.slot = slot;
    header.round = 1;
    header.signature.elements = GetParam();
    header.signature.format = INFOLD_DTYPE_I32 << 4 | INFOLD_FORMAT_I32;
    header.contributors = {1, 1, core::rank_digest(worker)};
    std::vector<std::byte> datagram(INFOLD_HEADER_BYTES + GetParam() * sizeof(value));
    core::write_header(header, datagram);
    for (std::size_t i = 0; i < GetParam(); ++i) {
      std::memcpy(datagram.data() + INFOLD_HEADER_BYTES + i * sizeof(value), &value, sizeof(value));
    }
    return datagram;
  }
  void contribute(std::uint16_t rank, std::uint16_t site, std::uint16_t slot, std::int32_t value) {
    const std::vector<std::byte> datagram = contribution(rank, slot, value);
    const std::span<const std::byte> whole = datagram;
    ranks_[rank]->send_apart(io::Neighbour{site}, whole.first(INFOLD_HEADER_BYTES),
                             whole.subspan(INFOLD_HEADER_BYTES));
  }

  struct Answer {
    core::Kind kind{};
    std::int32_t last = 0;  // the last of the sum's elements
  };
  // Receives the answers for the rank's worker, by site and slot.
  std::map<std::pair<std::uint32_t, std::uint16_t>, Answer> answers(std::uint16_t rank) {
    std::map<std::pair<std::uint32_t, std::uint16_t>, Answer> all;
    for (const io::Received& each : ranks_[rank]->receive()) {
      core::Packet packet;
      EXPECT_EQ(core::parse(each.datagram, packet), core::Malformed::none);
      Answer answer = {packet.header.kind, 0};
      if (answer.kind == core::Kind::result) {
        std::memcpy(&answer.last, packet.elements + (GetParam() - 1U) * sizeof(answer.last),
                    sizeof(answer.last));
      }
      all[{static_cast<std::uint32_t>(each.from), packet.header.slot}] = answer;
    }
    return all;
  }

  std::vector<std::unique_ptr<SummingMemoryEndpoint>> ranks_;
};

// Short results are copied for the rank's own worker, and long ones are not.
INSTANTIATE_TEST_SUITE_P(Elements, SummingInMemory, testing::Values(1, 2048));

TEST_P(SummingInMemory, EverySiteSumsForEveryRank) {
  for (std::uint16_t rank = 0; rank < kRanks; ++rank) {
    for (std::uint16_t site = 0; site < kSites; ++site) {
      for (std::uint16_t slot = 0; slot < 2; ++slot) {
        contribute(rank, site, slot, 1000 * slot + 100 * site + rank);
      }
    }
    ranks_[rank]->flush();
  }
  for (std::uint16_t site = 0; site < kSites; ++site) {
    EXPECT_EQ(answers(site).size(), 2U + 2U * site) << "its own results, and those of sites before";
    EXPECT_EQ(ranks_[site]->served(), 4U);
  }
  auto of_last = answers(kRanks - 1);
  ASSERT_EQ(of_last.size(), 2U * kSites);
  for (std::uint16_t site = 0; site < kSites; ++site) {
    for (std::uint16_t slot = 0; slot < 2; ++slot) {
      const Answer answer = of_last[{site, slot}];
      EXPECT_EQ(answer.kind, core::Kind::result);
      EXPECT_EQ(answer.last, kRanks * (1000 * slot + 100 * site) + 0 + 1 + 2);
    }
  }
}

TEST_P(SummingInMemory, ALinkSaysWhoseContributionsItCarries) {
  contribute(0, 0, 0, 1);
  ranks_[0]->flush();
  ranks_[1]->send(io::Neighbour{0}, contribution(2, 0, 50));
  ranks_[1]->flush();
  EXPECT_TRUE(answers(0).empty());
  contribute(1, 0, 0, 10);
  contribute(2, 0, 0, 100);
  ranks_[1]->flush();
  ranks_[2]->flush();
  const auto own = answers(0);
  ASSERT_EQ(own.size(), 1U);
  EXPECT_EQ(own.begin()->second.last, 111);
}

// The rank's own contribution comes last, from a thread that differs from the one that waits.
TEST_P(SummingInMemory, TheOwnResultWakesTheThreadThatWaits) {
  for (std::uint16_t rank = 1; rank < kRanks; ++rank) {
    contribute(rank, 0, 0, 1);
    ranks_[rank]->flush();
  }
  EXPECT_TRUE(answers(0).empty());
  std::thread waits([this] {
    const base::Instant limit = io::monotonic_now() + base::seconds(20);
    for (;;) {
      ranks_[0]->wait(limit);
      if (!answers(0).empty()) break;
      ASSERT_LT(io::monotonic_now().ns, limit.ns);
    }
  });
  contribute(0, 0, 0, 1);
  ranks_[0]->flush();
  waits.join();
}

TEST_P(SummingInMemory, ARepeatIsAnsweredWithTheResult) {
  for (std::uint16_t rank = 0; rank < kRanks; ++rank) {
    contribute(rank, 0, 0, 1);
    ranks_[rank]->flush();
  }
  EXPECT_EQ(answers(0).size(), 1U);
  contribute(0, 0, 0, 1);
  ranks_[0]->flush();
  const auto again = answers(0);
  ASSERT_EQ(again.size(), 1U);
  EXPECT_EQ(again.begin()->second.last, kRanks);
}

TEST_P(SummingInMemory, WhoeverLeavesSaysThatItsSiteHasStopped) {
  ranks_[0].reset();
  for (std::uint16_t rank = 1; rank < kRanks; ++rank) {
    const auto said = answers(rank);
    ASSERT_EQ(said.size(), 1U);
    EXPECT_EQ(said.begin()->first.first, 0U);
    EXPECT_EQ(said.begin()->second.kind, core::Kind::aborted);
  }
}

}  // namespace
}  // namespace infold::rank
