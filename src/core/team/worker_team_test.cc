// SPDX-License-Identifier: Apache-2.0
//
// Several workers of a rank, each with some of the sites, do what one worker with all sites does.
#include "core/team/worker_team.h"

#include <array>
#include <cstring>
#include <numeric>

#include <gtest/gtest.h>

#include "core/aggregator/aggregator.h"
#include "core/star_testing.h"

namespace infold::core {
namespace {

using testing::kI32Codec;
using testing::sum_of;

constexpr std::size_t kSites = 4;

// The only rank of its job. Its packets take no time.
class LoneTeam {
 public:
  explicit LoneTeam(std::vector<SiteSet> shares) : team_(options(), shares) {
    for (std::size_t site = 0; site < kSites; ++site) sites_.emplace_back(aggregator());
  }

  WorkerTeam& team() { return team_; }
  base::Instant now() const { return now_; }
  const std::vector<Event>& events() const { return events_; }
  std::uint64_t sent() const { return sent_; }
  void lose_all_to(std::uint8_t site) { silent_ = site; }

  void drain() {
    std::vector<std::byte> out(1472);
    for (bool moved = true; moved;) {
      moved = false;
      while (const auto transmit = team_.poll_transmit(now_, out)) {
        moved = true;
        ++sent_;
        if (transmit->site == silent_) continue;
        Aggregator& site = sites_[transmit->site];
        site.handle_datagram(std::span(out).first(transmit->bytes));
        while (const auto answer = site.poll_transmit()) {
          team_.handle_datagram(now_, transmit->site, answer->datagram);
        }
      }
      while (const auto event = team_.poll_event()) {
        moved = true;
        events_.push_back(*event);
      }
    }
  }

  void expire() {
    now_ = std::max(now_, team_.poll_timeout().value_or(now_));
    team_.handle_timeout(now_);
    drain();
  }

 private:
  static WorkerOptions options() {
    WorkerOptions options;
    options.world = 1;
    options.limits.datagram_bytes_max = 1472;
    options.limits.elements_max = 32;
    options.small_slots = 2;
    options.bulk_slots = 4;
    options.transfers_max = 4;
    options.check_period = 1;
    options.sites.assign(kSites, {.epoch = 7});
    options.sites[1].weight = 3;
    return options;
  }
  static AggregatorOptions aggregator() {
    AggregatorOptions options;
    options.epoch = 7;
    options.slot_count = 6;
    options.world = 1;
    options.workers = {{0, 1}};
    return options;
  }

  base::Instant now_;
  WorkerTeam team_;
  std::vector<Aggregator> sites_;
  std::vector<Event> events_;
  std::uint64_t sent_ = 0;
  int silent_ = -1;
};

const std::vector<std::vector<SiteSet>> kShares = {
    {0b1111}, {0b0101, 0b1010}, {0b0001, 0b1110}, {0b0001, 0b0010, 0b0100, 0b1000}};

std::vector<std::int32_t> numbers(std::size_t count) {
  std::vector<std::int32_t> tensor(count);
  std::iota(tensor.begin(), tensor.end(), 1);
  return tensor;
}

TransferRequest copy_of(const std::vector<std::int32_t>& input, std::vector<std::int32_t>& output) {
  TransferRequest request = sum_of(output);
  request.input = reinterpret_cast<const std::byte*>(input.data());
  return request;
}

TEST(WorkerTeam, SumsEveryChunkOnce) {
  std::vector<std::uint64_t> sent;
  for (const auto& shares : kShares) {
    LoneTeam rank(shares);
    for (const std::size_t elements : {1U, 32U, 33U, 300U, 5000U}) {
      const std::vector<std::int32_t> input = numbers(elements);
      std::vector<std::int32_t> output(elements);
      ASSERT_TRUE(rank.team().submit(rank.now(), copy_of(input, output)).has_value());
      rank.drain();
      EXPECT_EQ(output, input);
    }
    EXPECT_EQ(rank.events().size(), 5U);
    sent.push_back(rank.sent());
  }
  EXPECT_EQ(sent, std::vector<std::uint64_t>(kShares.size(), sent.front()));
}

// Workers that have no chunk of the first tensor wait for it as well.
TEST(WorkerTeam, OneThatFollowsWaitsForAllOfTheOther) {
  for (const auto& shares : kShares) {
    LoneTeam rank(shares);
    for (std::size_t silent = 0; silent < kSites; ++silent) {
      rank.lose_all_to(static_cast<std::uint8_t>(silent));
      const std::vector<std::int32_t> input = numbers(32 * 6), later = numbers(32 * 40);
      std::vector<std::int32_t> output(input.size()), later_output(later.size());
      const auto first = rank.team().submit(rank.now(), copy_of(input, output));
      ASSERT_TRUE(first.has_value());
      TransferRequest second = copy_of(later, later_output);
      second.after = *first;
      ASSERT_TRUE(rank.team().submit(rank.now(), second).has_value());
      const std::size_t ended = rank.events().size();
      rank.drain();
      EXPECT_EQ(rank.events().size(), ended);
      EXPECT_EQ(later_output, std::vector<std::int32_t>(later.size()));
      rank.lose_all_to(kSites);
      for (int i = 0; i < 100 && rank.events().size() < ended + 2; ++i) rank.expire();
      EXPECT_EQ(rank.events().size(), ended + 2);
      EXPECT_EQ(output, input);
      EXPECT_EQ(later_output, later);
    }
  }
}

TEST(WorkerTeam, SizesThatComeLaterReachAllWorkers) {
  for (const auto& shares : kShares) {
    for (const std::size_t elements : {0U, 20U, 2000U}) {
      LoneTeam rank(shares);
      const std::vector<std::int32_t> input = numbers(2000), next = numbers(500);
      std::vector<std::int32_t> output(input.size()), next_output(next.size());
      TransferRequest request = copy_of(input, output);
      request.sized_later = true;
      const auto id = rank.team().submit(rank.now(), request);
      ASSERT_TRUE(id.has_value());
      ASSERT_TRUE(rank.team().submit(rank.now(), copy_of(next, next_output)).has_value());
      rank.drain();
      EXPECT_TRUE(rank.events().empty());
      rank.team().set_size(*id, elements);
      rank.drain();
      EXPECT_EQ(rank.events().size(), 2U);
      EXPECT_TRUE(
          std::equal(input.begin(), input.begin() + static_cast<long>(elements), output.begin()));
      EXPECT_EQ(next_output, next);
    }
  }
}

// Ids stay the same at all workers, even if only some workers have room.
TEST(WorkerTeam, NoWorkerTakesWhatOneHasNoRoomFor) {
  for (const auto& shares : kShares) {
    LoneTeam rank(shares);
    rank.lose_all_to(2);
    const std::vector<std::int32_t> input = numbers(32);
    std::vector<std::vector<std::int32_t>> outputs(200, std::vector<std::int32_t>(32));
    std::size_t made = 0;
    for (int i = 0; i < 2000 && made < outputs.size(); ++i) {
      const auto id = rank.team().submit(rank.now(), copy_of(input, outputs[made]));
      if (id) {
        EXPECT_EQ(static_cast<std::uint64_t>(*id), ++made);
      } else {
        EXPECT_EQ(id.error().code, base::Code::resource_exhausted);
        rank.lose_all_to(kSites);
        rank.expire();
        rank.lose_all_to(2);
      }
      rank.drain();
    }
    rank.lose_all_to(kSites);
    for (int i = 0; i < 100 && rank.events().size() < made; ++i) rank.expire();
    EXPECT_EQ(made, outputs.size());
    EXPECT_EQ(rank.events().size(), made);
    for (const auto& output : outputs) EXPECT_EQ(output, input);
  }
}

TEST(WorkerTeam, OneWorkersDeadlineEndsTheJobForAll) {
  for (const auto& shares : kShares) {
    LoneTeam rank(shares);
    const std::vector<std::int32_t> input = numbers(32 * 100);
    std::vector<std::int32_t> output(input.size()), other(input.size());
    TransferRequest request = copy_of(input, output);
    request.deadline = rank.now() + base::milliseconds(50);
    rank.lose_all_to(3);
    ASSERT_TRUE(rank.team().submit(rank.now(), request).has_value());
    ASSERT_TRUE(rank.team().submit(rank.now(), copy_of(input, other)).has_value());
    for (int i = 0; i < 100 && rank.events().empty(); ++i) rank.expire();
    ASSERT_EQ(rank.events().size(), 2U);
    for (const Event& event : rank.events()) {
      ASSERT_TRUE(event.failure.has_value());
      EXPECT_EQ(event.failure->error.code, base::Code::deadline_exceeded);
      EXPECT_EQ(event.failure->error.detail, rank.events()[0].failure->error.detail);
    }
    const auto refused = rank.team().submit(rank.now(), request);
    ASSERT_FALSE(refused.has_value());
    EXPECT_EQ(refused.error().code, base::Code::aborted);
  }
}

}  // namespace
}  // namespace infold::core
