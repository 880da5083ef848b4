// SPDX-License-Identifier: Apache-2.0
//
// Tests compressed averages over a network: they have the same bits as averages of ranks in one
// thread. Also tests checkpoints and refusals.
#include <array>
#include <atomic>
#include <stdexcept>
#include <stop_token>
#include <thread>

#include <infold/compression.h>
#include <infold/compressor.h>

#include "api/compression/text_hash.h"
#include "api/testing.h"
#include "compress/testing.h"

namespace infold {
namespace {

using ::testing::HasSubstr;
using testing::make_group;
using testing::on_every_rank;

constexpr int kWorld = 3;
constexpr std::size_t kSizes[] = {1000, 5, 4097};

using Tensors = std::vector<std::vector<float>>;

std::string name_of(std::size_t parameter) { return "layer." + std::to_string(parameter); }

// The gradients of a rank at a step.
Tensors draw_gradients(int rank, std::uint64_t step) {
  base::Prng prng(step * 100 + static_cast<std::uint64_t>(rank));
  Tensors gradients;
  for (const std::size_t size : kSizes) gradients.push_back(compress::draw_tensor(prng, size));
  return gradients;
}

Result<void> average(Compression& compression, Communicator& comm, Tensors& gradients) {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < gradients.size(); ++i) names.push_back(name_of(i));
  std::vector<ParameterView> views;
  for (std::size_t i = 0; i < gradients.size(); ++i) views.push_back({names[i], gradients[i]});
  return compression.average(comm, views);
}

// Runs steps of one rank, and returns the gradients of the last step.
Tensors run_steps(Compression& compression, Communicator& comm, int rank, std::uint64_t first,
                  std::uint64_t end) {
  Tensors gradients;
  for (std::uint64_t step = first; step < end; ++step) {
    gradients = draw_gradients(rank, step);
    const auto done = average(compression, comm, gradients);
    EXPECT_TRUE(done.has_value()) << done.error().message;
  }
  return gradients;
}

Compression create(const CompressionOptions& options) {
  auto compression = Compression::create(options);
  EXPECT_TRUE(compression.has_value()) << compression.error().message;
  return *std::move(compression);
}

class EachMethod : public ::testing::TestWithParam<compress::Method> {};

// The network adds the same codes as a plain loop does: with loss, over several sites, and in a
// tree.
TEST_P(EachMethod, HasTheBitsOfRanksInOneThread) {
  const compress::CompressionChoice choice = compress::choose(GetParam().name);
  Tensors expected;
  for (std::size_t i = 0; i < std::size(kSizes); ++i) {
    compress::RoundTable ranks = compress::make_table(choice, {kSizes[i], {}}, kWorld);
    Tensors tensors;
    for (int rank = 0; rank < kWorld; ++rank) tensors.push_back(draw_gradients(rank, 0)[i]);
    ASSERT_TRUE(ranks.meet(tensors, {.seed = 7, .parameter = hash_of_text(name_of(i))}));
    expected.push_back(ranks.mean_of(0));
  }
  const std::vector<LocalGroupOptions> networks = {
      {.world = kWorld},
      {.world = kWorld, .faults = {.loss = 0.05}},
      {.world = kWorld, .site_weights = {2, 1}},
      {.world = kWorld, .rack_size = 2},
  };
  for (const LocalGroupOptions& network : networks) {
    LocalGroup group = make_group(network);
    on_every_rank(group, [&](Communicator& comm, int rank) {
      Compression compression = create({.method = GetParam().name, .seed = 7});
      EXPECT_EQ(run_steps(compression, comm, rank, 0, 1), expected);
    });
  }
}

// A run that stops and continues from its state has the same bits as a run without a stop.
TEST_P(EachMethod, GoesOnFromItsState) {
  const auto memory = compress::CompressionChoice::make({GetParam().name, {}, "residual", {}});
  const CompressionOptions options{
      .method = GetParam().name, .memory = memory ? "residual" : "none", .seed = 3};
  LocalGroup group = make_group({.world = kWorld});
  std::vector<CompressionState> states(kWorld);
  std::vector<Tensors> expected(kWorld);
  on_every_rank(group, [&](Communicator& comm, int rank) {
    Compression whole = create(options);
    run_steps(whole, comm, rank, 0, 3);
    states[static_cast<std::size_t>(rank)] = whole.state();
    expected[static_cast<std::size_t>(rank)] = run_steps(whole, comm, rank, 3, 5);
  });
  LocalGroup later = make_group({.world = kWorld});
  on_every_rank(later, [&](Communicator& comm, int rank) {
    Compression resumed = create(options);
    const CompressionState& state = states[static_cast<std::size_t>(rank)];
    const auto loaded = resumed.load(state, rank, kWorld);
    EXPECT_TRUE(loaded.has_value()) << loaded.error().message;
    EXPECT_EQ(run_steps(resumed, comm, rank, 3, 5), expected[static_cast<std::size_t>(rank)]);
  });
}

INSTANTIATE_TEST_SUITE_P(Compression, EachMethod,
                         ::testing::ValuesIn(compress::built_in_methods().begin(),
                                             compress::built_in_methods().end()),
                         [](const auto& each) {
                           std::string name = each.param.name;
                           for (char& c : name) c = c == '-' ? '_' : c;
                           return name;
                         });

// The second step fails because a rank is gone. When it is made again in another job, this step and
// the later ones have the bits of a run without the failure.
TEST(Compression, AStepThatFailedIsMadeAgainWithTheSameBits) {
  const CompressionOptions options{.method = "shared", .memory = "residual"};
  std::vector<Tensors> expected(kWorld);
  LocalGroup quiet = make_group({.world = kWorld});
  on_every_rank(quiet, [&](Communicator& comm, int rank) {
    Compression compression = create(options);
    expected[static_cast<std::size_t>(rank)] = run_steps(compression, comm, rank, 0, 3);
  });
  std::vector<Compression> compressions;
  for (int rank = 0; rank < kWorld; ++rank) compressions.push_back(create(options));
  LocalGroup failing = make_group({.world = kWorld});
  on_every_rank(failing, [&](Communicator& comm, int rank) {
    Compression& compression = compressions[static_cast<std::size_t>(rank)];
    run_steps(compression, comm, rank, 0, 1);
    if (rank == 2) {
      const Communicator gone = std::move(comm);
      return;
    }
    Tensors gradients = draw_gradients(rank, 1);
    EXPECT_FALSE(average(compression, comm, gradients).has_value());
    EXPECT_EQ(gradients, draw_gradients(rank, 1));
  });
  LocalGroup later = make_group({.world = kWorld});
  on_every_rank(later, [&](Communicator& comm, int rank) {
    const auto index = static_cast<std::size_t>(rank);
    EXPECT_EQ(run_steps(compressions[index], comm, rank, 1, 3), expected[index]);
  });
}

// This happens if a step succeeds at one rank and fails at another, which then repeats it.
TEST(Compression, RanksAtOtherStepsGetAMismatch) {
  LocalGroup group = make_group({.world = kWorld});
  on_every_rank(group, [&](Communicator& comm, int rank) {
    Compression compression = create({.method = "randomk", .memory = "residual"});
    run_steps(compression, comm, rank, 0, 2);
    CompressionState state = compression.state();
    for (CompressionState::Entry& entry : state.entries) {
      if (rank == 1 && entry.what == "step") entry.values[0] += 1;
    }
    ASSERT_TRUE(compression.load(state, rank, kWorld).has_value());
    Tensors gradients = draw_gradients(rank, 2);
    const auto failed = average(compression, comm, gradients);
    ASSERT_FALSE(failed.has_value());
    EXPECT_EQ(failed.error().code, Code::mismatch);
    EXPECT_THAT(failed.error().message, HasSubstr("not at the same step"));
  });
}

// DistributedDataParallel passes its buckets in separate calls, whose order does not matter.
TEST(Compression, ParametersMayComeInSeveralCalls) {
  const CompressionOptions options{.method = "qsgd", .memory = "none", .seed = 5};
  std::vector<Tensors> expected(kWorld);
  std::vector<Tensors> found(kWorld);
  LocalGroup group = make_group({.world = kWorld});
  on_every_rank(group, [&](Communicator& comm, int rank) {
    const auto index = static_cast<std::size_t>(rank);
    Compression whole = create(options);
    expected[index] = run_steps(whole, comm, rank, 0, 3);
    Compression in_parts = create(options);
    for (std::uint64_t step = 0; step < 3; ++step) {
      found[index] = draw_gradients(rank, step);
      for (std::size_t i = found[index].size(); i-- > 0;) {
        const std::string name = name_of(i);
        const ParameterView view{name, found[index][i]};
        ASSERT_TRUE(in_parts.average(comm, {&view, 1}).has_value());
      }
    }
    EXPECT_EQ(in_parts.statistics().calls, 9U);
  });
  EXPECT_EQ(found, expected);
}

// Rank 1 never calls, so the others wait until they are stopped.
TEST(Compression, ARequestToStopEndsTheCallAndChangesNothing) {
  for (const std::string method : {"shared", "sidco", "terngrad"}) {
    std::stop_source stop;
    LocalGroup group = make_group({.world = 2});
    on_every_rank(group, [&](Communicator& comm, int rank) {
      Compression compression = create({.method = method});
      const Tensors before = draw_gradients(rank, 0);
      Tensors gradients = before;
      if (rank == 1) {
        while (!comm.failure()) {
          stop.request_stop();
          std::this_thread::yield();
        }
        return;
      }
      const ParameterView view{"weight", gradients[0]};
      const auto done = compression.average(comm, {&view, 1}, {.stop = stop.get_token()});
      ASSERT_FALSE(done.has_value());
      EXPECT_EQ(done.error().code, Code::cancelled) << done.error().message;
      EXPECT_EQ(gradients, before);
    });
  }
}

// The method that the page shows.
class Signs final : public compress::GatheredCompressor {
 public:
  static inline std::atomic<bool> throws = false;

 private:
  void encode(std::span<const float> tensor, const compress::Turn&,
              std::vector<std::byte>& code) override {
    for (const float value : tensor) code.push_back(std::byte{value < 0});
  }
  bool add(std::span<const std::byte> code, std::span<double> sums) const override {
    if (throws) throw std::runtime_error("no signs today");
    if (code.size() != sums.size()) return false;
    for (std::size_t i = 0; i < sums.size(); ++i) sums[i] += code[i] == std::byte{1} ? -1 : 1;
    return true;
  }
};

TEST(Compression, TakesAMethodOfTheUser) {
  const auto make = [](const auto&, const auto&) { return std::make_unique<Signs>(); };
  const compress::Method method{
      .name = "my signs", .bias = compress::Bias::direction, .make = make};
  static const bool is_added = compress::add_method(method).has_value();  // once, if tests repeat
  ASSERT_TRUE(is_added);
  LocalGroup group = make_group({.world = kWorld});
  on_every_rank(group, [](Communicator& comm, int rank) {
    Compression compression = create({.method = "my signs"});
    std::vector<float> gradient = {static_cast<float>(rank) - 1.5F, -7, 0};
    const ParameterView view{"weight", gradient};
    ASSERT_TRUE(compression.average(comm, {&view, 1}).has_value());
    EXPECT_EQ(gradient, (std::vector<float>{-1 / 3.0F, -1, 1}));
  });
  Signs::throws = true;
  LocalGroup failing = make_group({.world = kWorld});
  on_every_rank(failing, [](Communicator& comm, int) {
    Compression compression = create({.method = "my signs", .memory = "momentum"});
    std::vector<float> gradient = {1, -7, 0};
    const ParameterView view{"weight", gradient};
    EXPECT_THROW(static_cast<void>(compression.average(comm, {&view, 1})), std::runtime_error);
    EXPECT_EQ(gradient, (std::vector<float>{1, -7, 0}));
    for (const CompressionState::Entry& each : compression.state().entries) {
      EXPECT_EQ(each.values, std::vector<float>(each.values.size())) << each.what;
    }
  });
  Signs::throws = false;
}

// The error at each rank if only rank 1 makes the other choice.
std::vector<Error> errors_of(const CompressionOptions& usual, const CompressionOptions& other) {
  std::vector<Error> errors(kWorld);
  LocalGroup group = make_group({.world = kWorld});
  on_every_rank(group, [&](Communicator& comm, int rank) {
    Compression compression = create(rank == 1 ? other : usual);
    Tensors gradients = draw_gradients(rank, 0);
    const auto done = average(compression, comm, gradients);
    if (!done) errors[static_cast<std::size_t>(rank)] = done.error();
    EXPECT_FALSE(done.has_value());
    EXPECT_EQ(gradients, draw_gradients(rank, 0));
  });
  return errors;
}

TEST(Compression, RanksThatChooseOtherwiseGetOneMismatchThatNamesTheField) {
  const CompressionOptions usual{.method = "shared"};
  const std::vector<std::pair<CompressionOptions, std::string>> cases = {
      {{.method = "onebit"}, "method"},
      {{.method = "shared", .settings = {{"bits", 4}}}, "settings"},
      {{.method = "shared", .memory = "residual"}, "memory"},
      {{.method = "shared", .seed = 5}, "seed"},
  };
  for (const auto& [other, field] : cases) {
    for (const Error& error : errors_of(usual, other)) {
      EXPECT_EQ(error.code, Code::mismatch);
      EXPECT_EQ(error.rank, 1);
      EXPECT_EQ(error.field, field);
      EXPECT_THAT(error.message, HasSubstr("rank 1 has other " + field + " than rank 0"));
    }
  }
}

// Naming a setting's usual value does not make it a different setting.
TEST(Compression, TheUsualSettingMayBeWrittenOut) {
  LocalGroup group = make_group({.world = 2});
  on_every_rank(group, [&](Communicator& comm, int rank) {
    CompressionOptions options{.method = "shared"};
    if (rank == 1) options.settings = {{"bits", 8}};
    Compression compression = create(options);
    run_steps(compression, comm, rank, 0, 1);
  });
}

std::string refusal_of(Compression& compression, Communicator& comm,
                       std::span<const ParameterView> views) {
  const auto done = compression.average(comm, views);
  return done ? "" : done.error().message;
}

TEST(Compression, RefusesWrongParameters) {
  LocalGroup group = make_group({.world = 1});
  Compression compression = create({.method = "shared"});
  std::vector<float> a(6);
  std::vector<float> b(7);
  const std::size_t sides[] = {2, 4};
  const std::vector<ParameterView> twice = {{"a", a}, {"a", b}};
  EXPECT_EQ(refusal_of(compression, group[0], twice),
            "compression: the parameter a is passed twice");
  const std::vector<ParameterView> sided = {{"a", a, sides}};
  EXPECT_EQ(refusal_of(compression, group[0], sided),
            "compression: the sides of a have 8 elements, its gradient 6");
  const std::vector<ParameterView> first = {{"a", a}};
  EXPECT_EQ(refusal_of(compression, group[0], first), "");
  const std::vector<ParameterView> longer = {{"a", b}};
  EXPECT_EQ(refusal_of(compression, group[0], longer),
            "compression: the gradient of a has 7 elements, and had 6 before");
  Communicator none;
  EXPECT_EQ(refusal_of(compression, none, first),
            "compression: the communicator belongs to no job");
  LocalGroup larger = make_group({.world = 2});
  EXPECT_EQ(refusal_of(compression, larger[1], first),
            "compression: it remembers gradients of rank 0 of 1, and the communicator is rank 1 of "
            "2");
}

TEST(Compression, RefusesAWrongState) {
  LocalGroup group = make_group({.world = 1});
  const CompressionOptions options{.method = "shared", .memory = "residual"};
  Compression compression = create(options);
  std::vector<float> a(6);
  const std::vector<ParameterView> views = {{"a", a}};
  ASSERT_EQ(refusal_of(compression, group[0], views), "");
  const CompressionState state = compression.state();
  EXPECT_THAT(create({.method = "none"}).load(state, 0, 1).error().message,
              HasSubstr("the state is of shared"));
  EXPECT_THAT(compression.load(state, 0, 2).error().message,
              HasSubstr("the state is of rank 0 of 1, and this is rank 0 of 2"));
  CompressionState shorter = state;
  for (auto& entry : shorter.entries) {
    if (entry.what == "residual") entry.values.pop_back();
  }
  ASSERT_TRUE(compression.load(shorter, 0, 1).has_value());
  EXPECT_EQ(refusal_of(compression, group[0], views),
            "compression: the state's residual of a has 5 elements, the model's 6");
  CompressionState without = state;
  std::erase_if(without.entries, [](const auto& entry) { return entry.what == "residual"; });
  ASSERT_TRUE(compression.load(without, 0, 1).has_value());
  EXPECT_EQ(refusal_of(compression, group[0], views),
            "compression: the state has no residual of a");
  const ParameterShape shape{"a", {2, 3}};
  for (const CompressionState& each : {shorter, without}) {
    EXPECT_THAT(compression.load(each, 0, 1, {&shape, 1}).error().message, HasSubstr("the state"));
    EXPECT_EQ(refusal_of(compression, group[0], views),
              "compression: the state has no residual of a")
        << "what was loaded before is still there";
  }
  ASSERT_TRUE(compression.load(state, 0, 1, {&shape, 1}).has_value());
  CompressionState wild = state;
  for (auto& entry : wild.entries) {
    if (entry.what == "step") entry.values = {std::nanf(""), 0};
  }
  EXPECT_EQ(compression.load(wild, 0, 1).error().message,
            "compression: the state's count of steps of a is not a number");
}

// Codes travel with their lengths up to the length that the last call predicts, and the rest
// follows.
TEST(Compression, CodesWhoseLengthsChangeArrive) {
  constexpr std::size_t kElements = 4000;
  // The number of elements that each rank sends in each step.
  constexpr std::array<std::array<std::size_t, 7>, kWorld> kSent = {
      {{9, 9, 9, 4000, 0, 50, 50}, {9, 9, 2000, 0, 0, 50, 50}, {9, 9, 8, 70, 0, 51, 50}}};
  // In the first two steps the lengths are new. Elements of equal number and places have codes of
  // equal length.
  constexpr std::uint64_t kCalls[] = {1 + kWorld, 1, 2, 2, 1, 1 + kWorld, 1};
  const auto sent = [&](int rank, std::size_t step) {
    return kSent[static_cast<std::size_t>(rank)][step];
  };
  const auto value_of = [&](int rank, std::size_t step, std::size_t at) {
    return at < sent(rank, step) ? static_cast<float>(1 + at % 5) : 0.25F;
  };
  LocalGroup group = make_group({.world = kWorld, .faults = {.loss = 0.02}});
  on_every_rank(group, [&](Communicator& comm, int rank) {
    Compression compression =
        create({.method = "threshold", .settings = {{"value", 0.5}}, .memory = "none"});
    for (std::size_t step = 0; step < std::size(kCalls); ++step) {
      Tensors gradients(1);
      std::vector<float> wanted;
      for (std::size_t at = 0; at < kElements; ++at) {
        gradients[0].push_back(value_of(rank, step, at));
        float sum = 0;
        for (int each = 0; each < kWorld; ++each) {
          if (at < sent(each, step)) sum += value_of(each, step, at);
        }
        wanted.push_back(sum / kWorld);
      }
      const std::uint64_t before = comm.statistics().calls;
      const auto done = average(compression, comm, gradients);
      ASSERT_TRUE(done.has_value()) << done.error().message;
      EXPECT_EQ(gradients[0], wanted) << "step " << step;
      // A list's first call also checks that all ranks have chosen alike.
      EXPECT_EQ(comm.statistics().calls - before - (step == 0 ? 1 : 0), kCalls[step])
          << "step " << step;
    }
  });
}

TEST(Compression, CountsItsBytes) {
  LocalGroup group = make_group({.world = 2});
  on_every_rank(group, [&](Communicator& comm, int rank) {
    Compression compression = create({.method = "shared"});
    run_steps(compression, comm, rank, 0, 2);
    const CompressionStatistics statistics = compression.statistics();
    EXPECT_EQ(statistics.calls, 2U);
    EXPECT_EQ(statistics.bytes_before, 2 * 4 * (1000U + 5 + 4097));
    EXPECT_LT(statistics.bytes_sent, statistics.bytes_before * 55 / 100);
    EXPECT_EQ(statistics.bytes_received, statistics.bytes_sent);
  });
}

}  // namespace
}  // namespace infold
