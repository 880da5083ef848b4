// SPDX-License-Identifier: Apache-2.0
//
// Real ranks of this process join an emulator over loopback, which plays the other ranks. Every sum
// is compared with what all ranks contribute.
#include "study/emulate/emulator.h"

#include <array>
#include <atomic>
#include <barrier>
#include <thread>
#include <vector>

#include <gmock/gmock.h>

#include "api/joining/join_testing.h"
#include "base/prng.h"
#include "core/packet/packet.h"
#include "io/udp/udp_socket.h"
#include "study/emulate/contribution.h"

namespace infold::emulate {
namespace {

using infold::testing::Body;
using infold::testing::options_of;
using ::testing::HasSubstr;

std::unique_ptr<Emulator> start(EmulationOptions options) {
  options.listen = *io::SocketAddress::parse("127.0.0.1:0", "test");
  auto emulator = Emulator::start(options);
  EXPECT_TRUE(emulator.has_value()) << emulator.error().detail;
  return std::move(*emulator);
}

// Runs the real ranks of a job with `world` ranks.
void run_real(const Emulator& emulator, int real, int world, const Body& body,
              Sites sites = Sites::switches) {
  std::vector<std::thread> threads;
  for (int rank = 0; rank < real; ++rank) {
    threads.emplace_back([&, rank] {
      JoinOptions options = options_of(rank, world);
      options.switches = {emulator.address().text()};
      options.sites = sites;
      Result<Communicator> communicator = Communicator::join(options);
      ASSERT_TRUE(communicator.has_value()) << communicator.error().message;
      body(*communicator);
    });
  }
  for (std::thread& thread : threads) thread.join();
}

float own_value(int rank, std::size_t index) {
  return static_cast<float>((static_cast<std::size_t>(rank) * 31 + index * 7) % 64);
}

float sum_of_all(int real, int world, std::size_t index) {
  float sum = 0;
  for (int rank = 0; rank < real; ++rank) sum += own_value(rank, index);
  for (int rank = real; rank < world; ++rank) {
    sum +=
        static_cast<float>(generated_value(DataType::f32, static_cast<std::uint16_t>(rank), index));
  }
  return sum;
}

void check_sums(Communicator& comm, int real, int calls) {
  for (int call = 0; call < calls; ++call) {
    std::vector<float> tensor(call % 3 == 0 ? 5 : 20'000 + static_cast<std::size_t>(call));
    for (std::size_t i = 0; i < tensor.size(); ++i) tensor[i] = own_value(comm.rank(), i);
    const auto done = comm.all_reduce(std::span(tensor)).wait();
    ASSERT_TRUE(done.has_value()) << done.error().message;
    for (std::size_t i = 0; i < tensor.size(); ++i) {
      ASSERT_EQ(tensor[i], sum_of_all(real, comm.world(), i)) << call << ", element " << i;
    }
  }
}

TEST(Emulator, RealRanksGetTheSumsOfAllRanks) {
  const auto emulator = start({.ranks = 8, .real = 2, .values = Values::generated});
  run_real(*emulator, 2, 8, [](Communicator& comm) { check_sums(comm, 2, 12); });
  const EmulationReport report = emulator->report();
  EXPECT_EQ(report.counters.transfers, 12U);
  EXPECT_GT(report.counters.packets_out, 0U);
  EXPECT_EQ(report.lateness.count(), report.counters.packets_out);
}

TEST(Emulator, OneRealRankOf64) {
  const auto emulator = start({.ranks = 64, .real = 1, .values = Values::generated});
  run_real(*emulator, 1, 64, [](Communicator& comm) { check_sums(comm, 1, 4); });
}

TEST(Emulator, LossAndSlowLinksChangeNoSum) {
  const auto emulator = start({.ranks = 6,
                               .real = 2,
                               .link = {.bits_per_second = 200'000'000,
                                        .delay = base::microseconds(200),
                                        .queue_bytes_max = 64 << 10},
                               .loss = 0.03,
                               .values = Values::generated,
                               .lag = {.mean = base::microseconds(300)}});
  run_real(*emulator, 2, 6, [](Communicator& comm) { check_sums(comm, 2, 8); });
}

// Ranks of every shape get the sums of all ranks.
struct Placed {
  const char* name;
  JobShape shape;
  int real;
};

std::vector<Placed> shapes_of(std::uint32_t ranks) {
  const std::vector<core::RankRange> two = even_ranges(ranks, 2);
  return {{"racks", {.racks = even_ranges(ranks, 4)}, 2},
          {"real ranks in two racks", {.racks = even_ranges(ranks, 4)}, 5},
          {"a rack, and ranks at the root", {.racks = {two[1]}}, 2},
          {"sites", {.weights = {1, 1, 1, 1}}, 2},
          {"sites of other weights", {.weights = {3, 1}}, 2},
          {"servers", {.weights = {1, 1}, .on_servers = true}, 2},
          {"racks and sites", {.racks = two, .weights = {1, 2, 1}}, 5},
          {"hosts", {.hosts = even_ranges(ranks, 4)}, 1},
          {"hosts in racks", {.racks = two, .hosts = even_ranges(ranks, 4), .weights = {1, 1}}, 2},
          {"ranks that sum", {.weights = {}, .ranks_sum = true}, 3},
          {"ranks that sum, and switches", {.weights = {4, 2}, .ranks_sum = true}, 2},
          {"ranks that sum, in two racks", {.racks = two, .weights = {2, 1}, .ranks_sum = true}, 7},
          {"ranks that sum, in a rack and at the root", {.racks = {two[1]}, .ranks_sum = true}, 2},
          {"ranks that sum, and servers",
           {.weights = {1, 1}, .ranks_sum = true, .on_servers = true},
           1}};
}

TEST(Emulator, SumsAreRightInEveryShape) {
  constexpr int kRanks = 12;
  for (const Placed& each : shapes_of(kRanks)) {
    SCOPED_TRACE(each.name);
    const auto emulator = start({.ranks = kRanks,
                                 .real = static_cast<std::uint32_t>(each.real),
                                 .shape = each.shape,
                                 .link = {.delay = base::microseconds(50)},
                                 .loss = 0.01,
                                 .values = Values::generated});
    run_real(
        *emulator, each.real, kRanks, [&](Communicator& comm) { check_sums(comm, each.real, 6); },
        each.shape.ranks_sum ? Sites::mixed : Sites::switches);
    const EmulationReport report = emulator->report();
    EXPECT_EQ(report.counters.transfers, 6U);
    EXPECT_EQ(report.counters.packets_refused, 0U);
  }
}

TEST(Emulator, AJobHasThePlanThatIsWanted) {
  plan::Plan plan;
  plan.world = 8;
  plan.small_slots = 16;
  plan.bulk_slots = 100;
  const auto racks = even_ranges(8, 2);
  plan.trees = {plan::tree_of(8, std::vector<core::RankRange>{{4, 2}}, racks),
                plan::tree_of(8, std::vector<core::RankRange>{{4, 2}}, racks)};
  plan.trees.back().weight = 3;
  const auto shape = shape_of(plan, 2);
  ASSERT_TRUE(shape.has_value()) << shape.error();
  const auto emulator =
      start({.ranks = 8, .real = 2, .shape = *shape, .values = Values::generated});
  run_real(*emulator, 2, 8, [](Communicator& comm) { check_sums(comm, 2, 4); });
}

TEST(Emulator, AJobWhoseRanksSumHasThePlanThatIsWanted) {
  plan::Plan plan;
  plan.world = 4;
  plan.small_slots = 16;
  plan.bulk_slots = 100;
  plan.trees.assign(5, plan::flat_tree(4));
  for (std::size_t tree = 1; tree < 5; ++tree) {
    plan.trees[tree].aggregators.front().place = plan::Place::rank;
  }
  plan.trees[4].weight = 3;
  const auto shape = shape_of(plan, 2);
  ASSERT_TRUE(shape.has_value()) << shape.error();
  const auto emulator =
      start({.ranks = 4, .real = 2, .shape = *shape, .values = Values::generated});
  run_real(*emulator, 2, 4, [](Communicator& comm) { check_sums(comm, 2, 4); }, Sites::mixed);
}

// Real ranks take 64 small and 448 bulk slots, and no more.
TEST(Emulator, RefusesAJobThatCannotHaveThePlan) {
  plan::Plan plan;
  plan.world = 4;
  plan.small_slots = 64;
  plan.bulk_slots = 1000;
  plan.trees = {plan::flat_tree(4)};
  const auto shape = shape_of(plan, 1);
  ASSERT_TRUE(shape.has_value()) << shape.error();
  const auto emulator = start({.ranks = 4, .real = 1, .shape = *shape});
  JoinOptions options = options_of(0, 4);
  options.switches = {emulator->address().text()};
  const Result<Communicator> joined = Communicator::join(options);
  ASSERT_FALSE(joined.has_value());
  EXPECT_THAT(joined.error().message,
              HasSubstr("bulk_slots=448, and the plan has 1000 (--plan); write the job's value"));
}

TEST(Emulator, EveryCollectiveHasItsResult) {
  const auto emulator = start({.ranks = 5, .real = 2, .values = Values::zeros});
  run_real(*emulator, 2, 5, [](Communicator& comm) {
    const auto done = [](Handle handle) {
      const auto result = handle.wait();
      ASSERT_TRUE(result.has_value()) << result.error().message;
    };
    done(comm.barrier());
    std::vector<std::int64_t> tensor(1000, comm.rank() + 1);
    done(comm.all_reduce(std::span(tensor)));
    EXPECT_EQ(tensor, std::vector<std::int64_t>(1000, 3));
    std::vector<float> part(7, static_cast<float>(comm.rank() + 1));
    std::vector<float> all(5 * part.size(), -1);
    done(comm.all_gather(std::span<const float>(part), std::span(all)));
    EXPECT_EQ(all[0], 1);
    EXPECT_EQ(all[7], 2);
    EXPECT_EQ(all[14], 1);  // repeats what rank 0 sent
    EXPECT_EQ(all[34], 1);
    std::vector<float> from_emulated(100, 7);
    done(comm.broadcast(std::span(from_emulated), 4));
    EXPECT_EQ(from_emulated, std::vector<float>(100));
    std::vector<float> mean(50, 10);
    done(comm.all_reduce(std::span(mean), {.reduction = Reduction::average}));
    EXPECT_EQ(mean, std::vector<float>(50, 4));
    std::vector<float> fixed(3000, 1.5F);
    done(comm.all_reduce(std::span(fixed), {.wire = WireFormat::fixed32}));
    EXPECT_EQ(fixed, std::vector<float>(3000, 3));
  });
}

// For such a call, rank 0 knows the size of the last part only when the first part has its sum.
TEST(Emulator, CallsThatAreSizedLaterHaveTheirSums) {
  const auto emulator = start({.ranks = 5, .real = 2, .values = Values::zeros});
  run_real(*emulator, 2, 5, [](Communicator& comm) {
    for (const CallOptions& options :
         {CallOptions{.layout = Layout::blocks}, CallOptions{.wire = WireFormat::digits}}) {
      std::vector<float> tensor(20'000);
      for (std::size_t i = 5000; i < 7000; ++i) tensor[i] = 1.5F;
      for (int call = 0; call < 3; ++call) {
        std::vector<float> sum = tensor;
        const auto done = comm.all_reduce(std::span(sum), options).wait();
        ASSERT_TRUE(done.has_value()) << done.error().message;
        for (std::size_t i = 0; i < sum.size(); ++i) ASSERT_EQ(sum[i], 2 * tensor[i]) << i;
      }
    }
  });
}

// The stranger sends noise, packets that pretend to come from emulated ranks, results, and probes
// that nobody answers.
void expect_sums_beside_strangers(const JobShape& shape, Sites sites) {
  const auto emulator = start({.ranks = 4, .real = 2, .shape = shape, .values = Values::generated});
  std::atomic<bool> is_over = false;
  std::thread stranger([&] {
    io::UdpOptions options;
    options.bind = *io::SocketAddress::parse("127.0.0.1:0", "test");
    auto socket = io::UdpSocket::open(options);
    ASSERT_TRUE(socket.has_value());
    const std::array<io::SocketAddress, 1> to = {emulator->address()};
    base::Prng prng(7);
    while (!is_over) {
      for (int i = 0; i < 50; ++i) {
        std::vector<std::byte> datagram(prng.below(1400));
        for (std::byte& each : datagram) each = static_cast<std::byte>(prng.next());
        if (datagram.size() >= INFOLD_HEADER_BYTES && prng.chance(0.8)) {
          core::Header header;
          header.kind = prng.chance(0.5) ? core::Kind::query : core::Kind::result;
          header.job = 1;
          header.worker = static_cast<std::uint8_t>(2 + prng.below(254));
          header.slot = static_cast<std::uint16_t>(prng.below(600));
          core::write_header(header, datagram);
          if (prng.chance(0.5)) datagram.resize(INFOLD_HEADER_BYTES);
        }
        socket->send(to, datagram);
      }
      socket->flush();
      std::this_thread::yield();
    }
  });
  run_real(*emulator, 2, 4, [](Communicator& comm) { check_sums(comm, 2, 20); }, sites);
  is_over = true;
  stranger.join();
}

TEST(Emulator, PacketsOfStrangersChangeNoSum) { expect_sums_beside_strangers({}, Sites::switches); }

TEST(Emulator, PacketsOfStrangersChangeNoSumOfRanksThatSum) {
  expect_sums_beside_strangers({.weights = {}, .ranks_sum = true}, Sites::mixed);
}

TEST(Emulator, SaysWhichRanksAreReal) {
  const auto emulator = start({.ranks = 4, .real = 2});
  const auto error_of = [&](int rank, int world) {
    JoinOptions options = options_of(rank, world);
    options.switches = {emulator->address().text()};
    const Result<Communicator> joined = Communicator::join(options);
    return joined ? "joined" : joined.error().message;
  };
  EXPECT_THAT(error_of(2, 4), HasSubstr("rank 2 is emulated; real are ranks 0 to 1"));
  EXPECT_THAT(error_of(0, 8), HasSubstr("the emulator has 4 ranks, and the job has 8"));
}

TEST(Emulator, ARankThatLeavesEndsTheJobForTheOther) {
  const auto emulator = start({.ranks = 4, .real = 2});
  run_real(*emulator, 2, 4, [](Communicator& comm) {
    std::vector<float> tensor(10, 1);
    ASSERT_TRUE(comm.all_reduce(std::span(tensor)).wait().has_value());
    if (comm.rank() == 1) return;
    const auto done = comm.all_reduce(std::span(tensor)).wait();
    ASSERT_FALSE(done.has_value());
    EXPECT_EQ(done.error().rank, 1) << done.error().message;
  });
  // Everything is free again for the next job.
  run_real(*emulator, 2, 4, [](Communicator& comm) {
    std::vector<float> tensor(10, 1);
    ASSERT_TRUE(comm.all_reduce(std::span(tensor)).wait().has_value());
    EXPECT_EQ(tensor, std::vector<float>(10, 2));
  });
}

// The leaving rank takes its site along. A site may report the end before another site's result
// arrives, so the rank leaves only when all have their results.
TEST(Emulator, ARankThatSumsAndLeavesEndsTheJobForTheOthers) {
  std::barrier have_results(3);
  const auto emulator = start({.ranks = 5, .real = 3, .shape = {.weights = {}, .ranks_sum = true}});
  for (int job = 0; job < 2; ++job) {  // everything is free again for the next job
    run_real(
        *emulator, 3, 5,
        [&](Communicator& comm) {
          std::vector<float> tensor(10'000, 1);
          const auto first = comm.all_reduce(std::span(tensor)).wait();
          have_results.arrive_and_wait();
          ASSERT_TRUE(first.has_value()) << first.error().message;
          EXPECT_EQ(tensor, std::vector<float>(10'000, 3));
          if (comm.rank() == 1) return;
          const auto done = comm.all_reduce(std::span(tensor)).wait();
          ASSERT_FALSE(done.has_value());
          EXPECT_EQ(done.error().rank, 1) << done.error().message;
        },
        Sites::mixed);
  }
}

TEST(Emulator, RefusesRanksThatSumAndOthersInOneJob) {
  const auto error_of = [](const JobShape& shape, Sites sites) {
    const auto emulator = start({.ranks = 3, .real = 1, .shape = shape});
    JoinOptions options = options_of(0, 3);
    options.switches = {emulator->address().text()};
    options.sites = sites;
    const Result<Communicator> joined = Communicator::join(options);
    return joined ? "joined" : joined.error().message;
  };
  EXPECT_THAT(error_of({}, Sites::mixed),
              HasSubstr("rank 0 sums a share, and emulated ranks do not"));
  EXPECT_THAT(error_of({.ranks_sum = true}, Sites::switches),
              HasSubstr("rank 0 sums no share, and emulated ranks do"));
}

TEST(Emulator, RefusesWhatItCannotGenerate) {
  const auto emulator = start({.ranks = 3, .real = 1, .values = Values::generated});
  run_real(*emulator, 1, 3, [](Communicator& comm) {
    std::vector<float> tensor(3000, 1.5F);
    const auto done = comm.all_reduce(std::span(tensor), {.wire = WireFormat::fixed32}).wait();
    ASSERT_FALSE(done.has_value());
    EXPECT_THAT(done.error().message, HasSubstr("or the emulator's log if the rank is emulated"));
  });
}

TEST(Lateness, QuantilesAreAnEighthTooLargeAtMost) {
  Lateness lateness;
  for (int us = 1; us <= 1000; ++us) lateness.add(base::microseconds(us));
  EXPECT_EQ(lateness.count(), 1000U);
  EXPECT_EQ(lateness.most().ns, 1'000'000);
  for (const double share : {0.1, 0.5, 0.9, 0.99}) {
    const double us = static_cast<double>(lateness.quantile(share).ns) / 1000;
    EXPECT_GE(us, share * 1000) << share;
    EXPECT_LE(us, share * 1000 * 1.13 + 1) << share;
  }
  EXPECT_EQ(Lateness().quantile(0.99).ns, 0);
}

}  // namespace
}  // namespace infold::emulate
