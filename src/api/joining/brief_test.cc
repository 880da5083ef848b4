// SPDX-License-Identifier: Apache-2.0
//
// Tests how many bytes a switch sends when ranks gather: none go back to the rank that has sent
// them.
#include <cstring>
#include <vector>

#include "api/joining/join_testing.h"

namespace infold::testing {
namespace {

constexpr int kWorld = 4;
constexpr std::size_t kPart = 400'000;  // bytes

std::uint8_t byte_of(int rank, std::size_t i) {
  return static_cast<std::uint8_t>(i * 31 + static_cast<std::size_t>(rank) * 7 + (i >> 9));
}

void gather(Communicator& communicator) {
  std::vector<std::uint8_t> part(kPart);
  std::vector<std::uint8_t> all(kPart * kWorld);
  for (std::size_t i = 0; i < kPart; ++i) part[i] = byte_of(communicator.rank(), i);
  const auto done = communicator.all_gather(part, all).wait();
  ASSERT_TRUE(done.has_value()) << done.error().message;
  for (int rank = 0; rank < kWorld; ++rank) {
    const std::uint8_t* const of_rank = &all[static_cast<std::size_t>(rank) * kPart];
    for (std::size_t i = 0; i < kPart; ++i) ASSERT_EQ(of_rank[i], byte_of(rank, i)) << rank;
  }
}

void broadcast(Communicator& communicator) {
  std::vector<std::uint8_t> tensor(kPart);
  for (std::size_t i = 0; i < kPart; ++i) tensor[i] = byte_of(communicator.rank(), i);
  const auto done = communicator.broadcast(tensor, 2).wait();
  ASSERT_TRUE(done.has_value()) << done.error().message;
  for (std::size_t i = 0; i < kPart; ++i) ASSERT_EQ(tensor[i], byte_of(2, i));
}

// What a switch has counted so far.
struct Work {
  std::uint64_t bytes = 0;    // sent
  std::uint64_t chunks = 0;   // chunks whose results went to all workers
  std::uint64_t repeats = 0;  // datagrams to one worker; a busy machine causes some
};

Work work_of(switches::SwitchServer& server, core::Verdict of_results) {
  const status::SwitchMetrics metrics = server.metrics();
  const auto count = [&](core::Verdict verdict) {
    return metrics.packets_of(core::verdict_name(verdict));
  };
  return {metrics.sent.bytes, count(of_results),
          count(core::Verdict::replayed) + count(core::Verdict::answered_pending) +
              count(core::Verdict::forwarded_again)};
}

// The switch sends `data` once. Each repeat has at most a chunk. All headers, and packets that go
// to the root, are at most 1/12 of the bytes.
void expect_sent(const Work& before, const Work& now, std::size_t parts, std::size_t data) {
  ASSERT_GT(now.chunks, before.chunks);
  const std::uint64_t bytes = now.bytes - before.bytes;
  const std::uint64_t chunk = parts * kPart / (now.chunks - before.chunks) + 1;
  const std::uint64_t most = data + (now.repeats - before.repeats) * chunk;
  EXPECT_GE(bytes, data);
  EXPECT_LT(bytes, most + most / 12);
}

// Expects that each part went to all ranks but one.
void expect_sent_to_others(const Work& before, const Work& now, std::size_t parts) {
  expect_sent(before, now, parts, parts * kPart * (kWorld - 1));
}

TEST(BriefResults, ASwitchSendsNothingBackOfWhatIsGathered) {
  const auto server = start_switch("127.0.0.1:0");
  JoinOptions options = options_of(0, kWorld);
  options.switches = {server->join_address().text()};
  run_job(kWorld, options, gather);
  const Work gathered = work_of(*server, core::Verdict::completed);
  expect_sent_to_others({}, gathered, kWorld);
  run_job(kWorld, options, broadcast);
  expect_sent_to_others(gathered, work_of(*server, core::Verdict::completed), 1);
}

void gather_and_broadcast(Communicator& communicator) {
  gather(communicator);
  broadcast(communicator);
}

TEST(BriefResults, BitsAreRightAtSitesOfRanksToo) {
  const auto server = start_switch("127.0.0.1:0");
  JoinOptions options = options_of(0, kWorld);
  options.switches = {server->join_address().text()};
  options.sites = Sites::mixed;
  run_job(kWorld, options, gather_and_broadcast);
}

// Either all ranks share memory, or the first two share it and are one worker at the switch.
TEST(BriefResults, BitsAreRightInMemory) {
  const auto server = start_switch("127.0.0.1:0");
  JoinOptions options = options_of(0, kWorld);
  options.switches = {server->join_address().text()};
  run_job(kWorld, options, gather_and_broadcast, {"a", "a", "a", "a"});
  run_job(kWorld, options, gather_and_broadcast, {"a", "a", "b", "c"});
}

// The parent sends to both racks, and each rack sends to its ranks except the root. Racks also send
// to the parent what their ranks have sent.
TEST(BriefResults, RacksSendNothingBackEither) {
  const auto parent = start_switch("127.0.0.1:0");
  std::vector<std::unique_ptr<switches::SwitchServer>> racks;
  for (int rack = 0; rack < 2; ++rack) {
    racks.push_back(start_switch("127.0.0.1:0", 1, 4096, parent->join_address().text()));
  }
  std::vector<std::thread> ranks;
  for (int rank = 0; rank < kWorld; ++rank) {
    ranks.emplace_back([&, rank] {
      JoinOptions options = options_of(rank, kWorld);
      options.switches = {racks[static_cast<std::size_t>(rank) / 2]->join_address().text()};
      options.shared_memory = SharedMemory::off;
      Result<Communicator> communicator = Communicator::join(options);
      ASSERT_TRUE(communicator.has_value()) << communicator.error().message;
      gather(*communicator);
    });
  }
  for (std::thread& rank : ranks) rank.join();
  for (const auto& rack : racks) {
    constexpr std::size_t kData = (2 + 2 * kWorld - 2) * kPart;
    expect_sent({}, work_of(*rack, core::Verdict::delivered), kWorld, kData);
  }
}

}  // namespace
}  // namespace infold::testing
