// SPDX-License-Identifier: Apache-2.0
//
// Messages from ranks and from a switch may come in any order, and a relay must keep its promises:
// each rank hears one last word, the plane forgets all jobs, and nothing is left over.
#include "study/emulate/at_switch/switch_relay.h"

#include <chrono>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "base/prng.h"

namespace infold::emulate {
namespace {

using join::Hello;
using join::JobTerms;
using join::Parting;
using Entry = join::Registrar::Entry;

constexpr std::uint32_t kRanks = 5;
constexpr std::uint32_t kReal = 2;

class Plane final : public RankPlane {
 public:
  join::Answer<void> start_job(const JobTerms& terms) override {
    if (refuses) {
      return tl::unexpected(join::Refusal{join::RefusalReason::full, "no memory", -1});
    }
    EXPECT_TRUE(jobs.insert(terms.job).second) << "a living job's number";
    EXPECT_TRUE(terms.wants_transfers);
    return {};
  }
  void forget_job(std::uint16_t job) override { EXPECT_EQ(jobs.erase(job), 1U); }
  void note_call(std::uint16_t job, const join::CallNote&) override {
    EXPECT_TRUE(jobs.contains(job));
    ++notes;
  }

  std::set<std::uint16_t> jobs;
  std::uint32_t notes = 0;
  bool refuses = false;
};

// What a real rank has heard.
struct Heard {
  std::optional<JobTerms> terms;
  bool may_start = false;
  bool has_ended = false;
  int last_words = 0;  // refusals and dismissals
  std::string refusal;
};

class Ear final : public join::RankListener {
 public:
  explicit Ear(Heard& heard) : heard_(heard) {}
  void all_here(const JobTerms& terms) override { heard_.terms = terms; }
  void all_ready(const std::vector<join::HostGroup>&) override {
    EXPECT_TRUE(heard_.terms.has_value());
    EXPECT_EQ(heard_.last_words, 0);
    heard_.may_start = true;
  }
  void refused(const join::Refusal& refusal) override {
    EXPECT_FALSE(heard_.may_start);
    heard_.refusal = refusal.message;
    ++heard_.last_words;
  }
  void ended(const join::JobEnd&) override {
    EXPECT_TRUE(heard_.may_start);
    heard_.has_ended = true;
  }
  void dismissed() override { ++heard_.last_words; }

 private:
  Heard& heard_;
};

// One rank's stream at the test's switch.
struct Stream {
  Hello hello;
  std::shared_ptr<join::RankListener> listener;  // null: its last call was made
  bool has_terms = false;
  bool is_ready = false;
  bool went = false;
  std::optional<Parting> leaves;
};

class Link final : public join::RankLink {
 public:
  explicit Link(std::shared_ptr<Stream> stream) : stream_(std::move(stream)) {}
  // A link that is destroyed without leave() counts as cut.
  ~Link() override {
    if (!stream_->leaves) stream_->leaves = Parting::lost;
  }
  void ready(const join::ReadyReport&) override {
    EXPECT_TRUE(stream_->has_terms);
    EXPECT_FALSE(std::exchange(stream_->is_ready, true));
  }
  void leave(const Parting& parting) override {
    if (!stream_->leaves) stream_->leaves = parting;
  }

 private:
  const std::shared_ptr<Stream> stream_;
};

struct Bench {
  explicit Bench(bool all_sum = false) : ranks_sum(all_sum) {
    SwitchRelayOptions options;
    options.ranks = kRanks;
    options.real = kReal;
    options.real_switch = *io::SocketAddress::parse("10.0.0.9:7700", "test");
    options.has_threads = false;
    options.switch_weight = 4;
    for (std::uint32_t rank = kReal; ranks_sum && rank < kRanks; ++rank) {
      options.rank_sites.push_back(
          *io::SocketAddress::parse("10.0.0.7:" + std::to_string(9000 + rank), "test"));
    }
    options.link = [this](const Hello& hello, std::shared_ptr<join::RankListener> listener) {
      auto stream = std::make_shared<Stream>();
      stream->hello = hello;
      stream->listener = std::move(listener);
      streams.push_back(stream);
      return std::make_unique<Link>(stream);
    };
    relay = std::make_unique<SwitchRelay>(plane, std::move(options));
  }

  Entry enter(std::uint32_t rank, const std::string& job = "job") {
    Hello hello;
    hello.job = job;
    hello.rank = rank;
    hello.world = kRanks;
    hello.host = join::RankHost{"host", "meeting"};
    hello.patience = std::chrono::seconds(60);
    if (ranks_sum) {
      hello.site = join::SiteAddress{
          .address = "10.0.0.3:" + std::to_string(8000 + rank), .weight = 0, .at_rank = true};
    }
    heard.push_back(std::make_unique<Heard>());
    const Entry entry = relay->enter(hello, std::make_shared<Ear>(*heard.back()));
    entries.push_back(entry);
    return entry;
  }
  JobTerms terms(std::uint16_t number) const {
    JobTerms terms;
    terms.job = number;
    terms.world = kRanks;
    terms.sites = {{.address = ":7701", .weight = 0}, {.address = "10.0.0.8:7702", .weight = 2}};
    return terms;
  }
  void dismiss(Stream& stream) { std::exchange(stream.listener, nullptr)->dismissed(); }
  // Answers like a well-behaved switch: sends all terms, and lets all go when all are ready.
  void answer(std::uint16_t number) {
    for (const auto& each : streams) {
      if (!each->listener || each->leaves || std::exchange(each->has_terms, true)) continue;
      each->listener->all_here(terms(number));
    }
    relay->work();
  }
  void go() {
    for (const auto& each : streams) {
      if (!each->listener || !each->is_ready || each->leaves || std::exchange(each->went, true)) {
        continue;
      }
      each->listener->all_ready({});
    }
    relay->work();
  }
  // Both real ranks are below the switch.
  void begin_job(const Entry& first, const Entry& second) {
    answer(7);
    relay->ready(first, {});
    relay->ready(second, {});
    relay->work();
    go();
  }
  // Dismisses all ranks that have said that they leave. Returns how many.
  std::size_t dismiss_all() {
    std::size_t count = 0;
    relay->work();
    for (const auto& each : std::vector(streams)) {
      if (!each->listener || !each->leaves) continue;
      dismiss(*each);
      ++count;
    }
    relay->work();
    return count;
  }

  const bool ranks_sum;
  Plane plane;
  std::vector<std::shared_ptr<Stream>> streams;
  std::vector<std::unique_ptr<Heard>> heard;
  std::vector<Entry> entries;
  std::unique_ptr<SwitchRelay> relay;
};

TEST(SwitchRelay, EmulatedRanksJoinBesideRealOnes) {
  Bench bench;
  const Entry first = bench.enter(0);
  const Entry second = bench.enter(1);
  bench.relay->work();
  ASSERT_EQ(bench.streams.size(), kRanks);
  for (const auto& each : bench.streams) {
    EXPECT_EQ(each->hello.host.has_value(), each->hello.rank < kReal) << "real ranks may share";
  }
  bench.answer(7);
  ASSERT_TRUE(bench.heard[0]->terms.has_value());
  EXPECT_TRUE(bench.heard[0]->terms->wants_transfers);
  EXPECT_EQ(bench.heard[0]->terms->sites[0].address, "10.0.0.9:7701");
  EXPECT_EQ(bench.heard[0]->terms->sites[1].address, "10.0.0.8:7702");
  EXPECT_EQ(bench.heard[0]->terms->sites[0].weight, 4U) << "which the switch has left open";
  EXPECT_EQ(bench.heard[0]->terms->sites[1].weight, 2U);
  bench.relay->ready(first, {});
  bench.relay->ready(second, {});
  bench.relay->work();
  for (const auto& each : bench.streams) EXPECT_TRUE(each->is_ready);
  EXPECT_FALSE(bench.relay->note_call(first, join::SizeNote{1, 1})) << "not started";
  bench.go();
  EXPECT_TRUE(bench.heard[0]->may_start && bench.heard[1]->may_start);
  EXPECT_TRUE(bench.plane.jobs.contains(7));
  EXPECT_TRUE(bench.relay->note_call(first, join::SizeNote{1, 1}));
  EXPECT_FALSE(bench.relay->note_call(second, join::SizeNote{1, 1})) << "rank 0 alone tells";
  EXPECT_EQ(bench.plane.notes, 1U);
}

// The last real rank leaves after the emulated ranks, so that the job's name is then free.
TEST(SwitchRelay, TheLastRealRankLeavesLast) {
  Bench bench;
  const Entry first = bench.enter(0);
  const Entry second = bench.enter(1);
  bench.relay->work();
  bench.begin_job(first, second);
  bench.relay->leave(first, Parting::in_order);
  bench.relay->work();
  bench.relay->leave(second, Parting::in_order);
  bench.relay->work();
  for (const auto& each : bench.streams) {
    EXPECT_EQ(each->leaves.has_value(), each->hello.rank != 1) << each->hello.rank;
  }
  EXPECT_EQ(bench.dismiss_all(), kRanks - 1);
  EXPECT_EQ(bench.heard[1]->last_words, 0);
  EXPECT_EQ(bench.dismiss_all(), 1U);
  EXPECT_EQ(bench.heard[1]->last_words, 1);
  EXPECT_TRUE(bench.plane.jobs.empty());
}

// The switch makes a rank that sums wait until all have left, so the last real rank need not wait.
TEST(SwitchRelay, RanksThatSumHaveSitesAndLeaveTogether) {
  Bench bench(true);
  const Entry first = bench.enter(0);
  const Entry second = bench.enter(1);
  bench.relay->work();
  ASSERT_EQ(bench.streams.size(), kRanks);
  for (const auto& each : bench.streams) {
    const Hello& hello = each->hello;
    const std::string own = hello.rank < kReal ? "10.0.0.3:800" : "10.0.0.7:900";
    ASSERT_TRUE(hello.site.has_value());
    EXPECT_EQ(hello.site->address, own + std::to_string(hello.rank));
    EXPECT_EQ(hello.site->weight, 1U);
    EXPECT_TRUE(hello.site->at_rank);
  }
  bench.begin_job(first, second);
  bench.relay->leave(first, Parting::in_order);
  bench.relay->work();
  EXPECT_EQ(bench.heard[0]->last_words, 0) << "the switch says when";
  bench.relay->leave(second, Parting::in_order);
  bench.relay->work();
  EXPECT_EQ(bench.dismiss_all(), kRanks);
  EXPECT_EQ(bench.heard[0]->last_words, 1);
  EXPECT_EQ(bench.heard[1]->last_words, 1);
  EXPECT_TRUE(bench.plane.jobs.empty());
  EXPECT_TRUE(bench.relay->status().empty());
}

TEST(SwitchRelay, AFailureIsThatOfTheFirstEmulatedRank) {
  Bench bench;
  const Entry first = bench.enter(0);
  const Entry second = bench.enter(1);
  bench.relay->work();
  bench.answer(7);
  bench.relay->ready(first, {});
  bench.relay->ready(second, {});
  bench.relay->work();
  bench.go();
  bench.relay->fail(7);
  bench.relay->fail(8);
  bench.relay->work();
  std::uint32_t failed = 0;
  for (const auto& each : bench.streams) {
    if (!each->leaves) continue;
    ++failed;
    EXPECT_EQ(each->hello.rank, kReal);
    ASSERT_TRUE(each->leaves->abort.has_value());
    EXPECT_EQ(each->leaves->abort->rank, kReal);
  }
  EXPECT_EQ(failed, 1U);
}

TEST(SwitchRelay, AJobWithoutMemoryIsRefused) {
  Bench bench;
  bench.plane.refuses = true;
  const Entry first = bench.enter(0);
  const Entry second = bench.enter(1);
  bench.relay->work();
  bench.answer(7);
  bench.relay->ready(first, {});
  bench.relay->ready(second, {});
  bench.relay->work();
  bench.go();
  EXPECT_EQ(bench.heard[0]->refusal, "no memory");
  EXPECT_EQ(bench.heard[1]->refusal, "no memory");
  EXPECT_EQ(bench.dismiss_all(), kRanks);
  EXPECT_TRUE(bench.relay->status().empty());
}

// Takes a random step of a rank or of the switch.
void take_step(Bench& bench, base::Prng& prng) {
  const auto stream = [&]() -> Stream* {
    if (bench.streams.empty()) return nullptr;
    Stream* const drawn = bench.streams[prng.below(bench.streams.size())].get();
    return drawn->listener ? drawn : nullptr;
  };
  const auto entry = [&] {
    return bench.entries.empty() ? Entry{} : bench.entries[prng.below(bench.entries.size())];
  };
  const auto number = [](const Stream& each) {
    return static_cast<std::uint16_t>(each.hello.job == "a" ? 1 : 2);
  };
  Stream* const drawn = stream();
  switch (prng.below(12)) {
    case 0:
      bench.enter(static_cast<std::uint32_t>(prng.below(kReal + 1)), prng.chance(0.5) ? "a" : "b");
      break;
    case 1: bench.relay->ready(entry(), {}); break;
    case 2:
      bench.relay->leave(entry(), prng.chance(0.7) ? Parting::in_order : Parting::lost);
      break;
    case 3: bench.relay->note_call(entry(), join::SizeNote{1, 1}); break;
    case 4: bench.relay->work(); break;
    case 5:
      if (drawn && !drawn->leaves && !std::exchange(drawn->has_terms, true)) {
        drawn->listener->all_here(bench.terms(number(*drawn)));
      }
      break;
    case 6:
      if (drawn && drawn->is_ready && !drawn->leaves && !std::exchange(drawn->went, true)) {
        drawn->listener->all_ready({});
      }
      break;
    case 7:
      if (drawn && !drawn->went && prng.chance(0.3)) {
        std::exchange(drawn->listener, nullptr)->refused({join::RefusalReason::invalid, "no", -1});
      }
      break;
    case 8:
      if (drawn && drawn->went && !drawn->leaves) drawn->listener->ended({});
      break;
    case 9:
      if (drawn && drawn->leaves) bench.dismiss(*drawn);
      break;
    case 10: bench.relay->fail(static_cast<std::uint16_t>(prng.below(3))); break;
    default: bench.go(); break;
  }
}

TEST(SwitchRelay, DrawnStepsLeaveNothingBehind) {
  std::uint32_t started = 0;
  for (std::uint64_t seed = 1; seed <= 3000; ++seed) {
    SCOPED_TRACE(seed);
    base::Prng prng(seed);
    Bench bench(prng.chance(0.3));
    // A job's number depends on its name, so that each name has one job at a time.
    const std::uint64_t steps = prng.below(150);
    for (std::uint64_t i = 0; i < steps; ++i) take_step(bench, prng);
    for (const auto& each : bench.heard) started += each->may_start ? 1 : 0;
    if (prng.chance(0.5)) {
      bench.relay->stop();
      bench.relay->work();
    }
    for (const Entry each : bench.entries) bench.relay->leave(each, Parting::in_order);
    while (bench.dismiss_all() > 0) {
    }
    for (const auto& each : bench.heard) ASSERT_EQ(each->last_words, 1);
    ASSERT_TRUE(bench.plane.jobs.empty());
    ASSERT_TRUE(bench.relay->status().empty());
    if (HasFailure()) return;
  }
  EXPECT_GT(started, 100U);
}

}  // namespace
}  // namespace infold::emulate
