// SPDX-License-Identifier: Apache-2.0
//
// What a pipeline does with ranks whose calls differ, before its controller has acted.
#include "core/adder/adder.h"

#include <algorithm>

#include <gtest/gtest.h>

#include "base/prng.h"

namespace infold::core {
namespace {

Header header_of(Kind kind, std::uint8_t worker, std::uint32_t shape) {
  Header header;
  header.kind = kind;
  header.worker = worker;
  header.round = 1;
  header.signature.elements = 16;
  header.signature.format = INFOLD_DTYPE_I32 << 4 | INFOLD_FORMAT_I32;
  header.signature.shape = shape;
  if (kind == Kind::add) header.contributors = {1, 1, rank_digest(worker)};
  return header;
}

AggregatorOptions options_of(std::uint16_t world) {
  AggregatorOptions options;
  options.world = world;
  for (std::uint16_t rank = 0; rank < world; ++rank) options.workers.push_back({rank, 1});
  return options;
}

struct Rank {
  Kind kind = Kind::add;  // SKIP: in a barrier, or in another rank's broadcast
  std::uint32_t shape = 0;
};

class LatePipeline {
 public:
  explicit LatePipeline(std::uint16_t world)
      : adder_(options_of(world), Adder::Controller::hears_too_late) {}

  Verdict deliver(const Rank& rank, std::uint8_t worker, Kind kind) {
    const Header header = header_of(kind, worker, rank.shape);
    std::vector<std::byte> datagram(
        datagram_bytes(kind, header.signature.layout(), header.signature.elements, false));
    write_header(header, datagram);
    const Verdict verdict = adder_.handle_datagram(datagram);
    has_sent_result_ |= verdict == Verdict::completed || verdict == Verdict::replayed;
    EXPECT_EQ(adder_.poll_transmit().has_value(),
              has_sent_result_ || verdict == Verdict::answered_pending);
    return verdict;
  }
  Verdict contribute(const Rank& rank, std::uint8_t worker) {
    return deliver(rank, worker, rank.kind);
  }
  bool has_sent_result() const { return has_sent_result_; }

 private:
  Adder adder_;
  bool has_sent_result_ = false;
};

// Ranks 0 and 2 are in a barrier, and rank 1 sums.
TEST(Adder, ABarrierIsNotPassedWithoutARankThatMadeAnotherCall) {
  const Rank barrier = {Kind::skip, 0};
  const Rank sum = {Kind::add, 7};
  LatePipeline pipeline(3);
  EXPECT_EQ(pipeline.contribute(barrier, 0), Verdict::contributed);
  EXPECT_EQ(pipeline.contribute(sum, 1), Verdict::job_ended);
  EXPECT_EQ(pipeline.contribute(barrier, 2), Verdict::job_ended);
  EXPECT_EQ(pipeline.contribute(barrier, 0), Verdict::job_ended) << "a repeat";
  EXPECT_EQ(pipeline.deliver(sum, 1, Kind::query), Verdict::job_ended);
  EXPECT_FALSE(pipeline.has_sent_result());
}

TEST(Adder, NobodyGetsAResultOfCallsThatDiffer) {
  int mismatches = 0;
  for (std::uint64_t seed = 1; seed <= 20'000; ++seed) {
    base::Prng prng(seed);
    const auto world = static_cast<std::uint16_t>(2 + prng.below(3));
    std::vector<Rank> ranks(world);
    for (Rank& rank : ranks) {
      if (prng.below(2) == 0) rank.kind = Kind::skip;
      if (prng.below(4) == 0) rank.shape = 1;
    }
    const bool differ = std::any_of(ranks.begin(), ranks.end(), [&](const Rank& rank) {
      return rank.shape != ranks.front().shape;
    });
    LatePipeline pipeline(world);
    bool is_spoiled = false;
    for (int i = 0; i < 12; ++i) {
      const auto worker = static_cast<std::uint8_t>(prng.below(world));
      const Rank& rank = ranks[worker];
      const Kind kind = prng.below(4) == 0 ? Kind::query : rank.kind;
      const bool is_for_controller = pipeline.deliver(rank, worker, kind) == Verdict::job_ended;
      EXPECT_TRUE(is_for_controller || !is_spoiled) << "seed " << seed;
      is_spoiled = is_for_controller;
    }
    EXPECT_FALSE(differ && pipeline.has_sent_result()) << "seed " << seed;
    EXPECT_TRUE(differ || !is_spoiled) << "seed " << seed;
    mismatches += is_spoiled ? 1 : 0;
  }
  EXPECT_GT(mismatches, 5'000);
}

}  // namespace
}  // namespace infold::core
