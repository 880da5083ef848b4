// SPDX-License-Identifier: Apache-2.0
//
// Tests compressed averages whose settings change: they are equal at all ranks whatever the times
// are. Also tests plain calls, failed steps, checkpoints, and refusals. No test depends on time.
#include <cmath>
#include <functional>

#include <infold/compression.h>

#include "api/testing.h"
#include "compress/testing.h"

namespace infold {
namespace {

using ::testing::HasSubstr;
using testing::make_group;
using testing::on_every_rank;

constexpr int kWorld = 3;
constexpr std::size_t kSizes[] = {3000, 5, 4097};

using Tensors = std::vector<std::vector<float>>;

const CompressionOptions kTopK{
    .method = "topk",
    .memory = "residual",
    .steering =
        SteeringOptions{.setting = "ratio", .cheapest = 0.001, .finest = 0.2, .may_skip = true}};

Tensors draw_gradients(int rank, std::uint64_t step) {
  base::Prng prng(step * 100 + static_cast<std::uint64_t>(rank));
  Tensors gradients;
  for (const std::size_t size : kSizes) gradients.push_back(compress::draw_tensor(prng, size));
  return gradients;
}

// Makes two calls: one for the first parameter, and one for the others.
Result<void> average(Compression& compression, Communicator& comm, Tensors& gradients) {
  const std::vector<ParameterView> views = {
      {"first", gradients[0]}, {"second", gradients[1]}, {"third", gradients[2]}};
  if (auto done = compression.average(comm, std::span(views).first(1)); !done) return done;
  return compression.average(comm, std::span(views).last(2),
                             {.hidden = std::chrono::milliseconds(1)});
}

Compression create(const CompressionOptions& options) {
  auto compression = Compression::create(options);
  EXPECT_TRUE(compression.has_value()) << compression.error().message;
  return *std::move(compression);
}

// What a rank gets from its steps: the means, and the settings chosen for the next step.
struct Seen {
  std::vector<Tensors> means;
  std::vector<std::pair<double, bool>> settings;

  friend bool operator==(const Seen&, const Seen&) = default;
};

Seen run_steps(Compression& compression, Communicator& comm, int rank, std::uint64_t first,
               std::uint64_t end) {
  Seen seen;
  for (std::uint64_t step = first; step < end; ++step) {
    Tensors gradients = draw_gradients(rank, step);
    const auto done = average(compression, comm, gradients);
    EXPECT_TRUE(done.has_value()) << done.error().message;
    seen.means.push_back(gradients);
    for (const SteeredCall& each : compression.steered_calls()) {
      seen.settings.emplace_back(each.value, each.is_compressed);
    }
  }
  return seen;
}

// Times differ between ranks, and settings must not.
TEST(CompressionSteering, AllRanksHaveEqualSettingsAndBits) {
  const SteeringOptions bits{.setting = "bits", .cheapest = 2, .finest = 8, .may_skip = true};
  const std::vector<CompressionOptions> choices = {
      kTopK,
      {.method = "shared", .memory = "residual", .steering = bits},
      {.method = "sidco",
       .memory = "dgc",
       .steering = SteeringOptions{.setting = "ratio", .cheapest = 0.001, .finest = 0.1}},
      {.method = "powersgd", .memory = "residual", .steering = SteeringOptions{.may_skip = true}},
  };
  const std::vector<LocalGroupOptions> networks = {{.world = kWorld},
                                                   {.world = kWorld, .faults = {.loss = 0.02}},
                                                   {.world = kWorld, .rack_size = 2}};
  for (const CompressionOptions& options : choices) {
    for (const LocalGroupOptions& network : networks) {
      std::vector<Seen> seen(kWorld);
      LocalGroup group = make_group(network);
      on_every_rank(group, [&](Communicator& comm, int rank) {
        Compression compression = create(options);
        seen[static_cast<std::size_t>(rank)] = run_steps(compression, comm, rank, 0, 25);
      });
      EXPECT_EQ(seen[0].settings.size(), 25U * 2);
      EXPECT_EQ(seen[1], seen[0]) << options.method;
      EXPECT_EQ(seen[2], seen[0]) << options.method;
    }
  }
}

// The first three calls use the first setting, so they have its bits.
TEST(CompressionSteering, ACallHasTheBitsOfItsSetting) {
  LocalGroup group = make_group({.world = kWorld});
  on_every_rank(group, [&](Communicator& comm, int rank) {
    Compression steered = create(kTopK);
    const Seen seen = run_steps(steered, comm, rank, 0, 3);
    CompressionOptions fixed = kTopK;
    fixed.steering.reset();
    fixed.settings = {{"ratio", seen.settings.front().first}};
    Compression compression = create(fixed);
    EXPECT_EQ(run_steps(compression, comm, rank, 0, 3).means, seen.means);
  });
}

// Without a setting, calls 3 and 4 are plain. They also carry everything that had not been sent.
TEST(CompressionSteering, APlainCallSendsTheResidual) {
  LocalGroup group = make_group({.world = kWorld});
  on_every_rank(group, [&](Communicator& comm, int rank) {
    CompressionOptions options = kTopK;
    options.steering = SteeringOptions{.may_skip = true};
    Compression compression = create(options);
    std::vector<double> sent(kSizes[0]);
    std::vector<double> wanted(kSizes[0]);
    for (std::uint64_t step = 0; step < 4; ++step) {
      Tensors gradients = draw_gradients(rank, step);
      const bool is_plain = step == 3;
      if (step > 0) {
        EXPECT_EQ(compression.steered_calls().front().is_compressed, !is_plain);
      }
      ASSERT_TRUE(average(compression, comm, gradients).has_value());
      for (int each = 0; each < kWorld; ++each) {
        const std::vector<float> own = draw_gradients(each, step)[0];
        for (std::size_t i = 0; i < own.size(); ++i) wanted[i] += double{own[i]} / kWorld;
      }
      for (std::size_t i = 0; i < sent.size(); ++i) sent[i] += double{gradients[0][i]};
      for (const CompressionState::Entry& each : compression.state().entries) {
        if (each.what != "residual" || each.parameter != "first") continue;
        EXPECT_EQ(each.values == std::vector<float>(kSizes[0]), is_plain);
      }
    }
    for (std::size_t i = 0; i < sent.size(); ++i) ASSERT_NEAR(sent[i], wanted[i], 1e-4);
  });
}

// The states of a job's compressions after ten steps.
std::vector<CompressionState> states_of_ten_steps() {
  std::vector<CompressionState> states(kWorld);
  LocalGroup group = make_group({.world = kWorld});
  on_every_rank(group, [&](Communicator& comm, int rank) {
    Compression compression = create(kTopK);
    run_steps(compression, comm, rank, 0, 10);
    states[static_cast<std::size_t>(rank)] = compression.state();
  });
  return states;
}

bool is_equal(const CompressionState& a, const CompressionState& b) {
  const auto same = [](const auto& one, const auto& other) {
    return one.parameter == other.parameter && one.what == other.what && one.values == other.values;
  };
  return a.choice == b.choice &&
         std::equal(a.entries.begin(), a.entries.end(), b.entries.begin(), b.entries.end(), same);
}

// Makes two steps from one state. The second step's setting follows from times that the state
// contains.
std::vector<Seen> two_steps_from(const std::vector<CompressionState>& states, bool fails_first) {
  std::vector<Compression> compressions;
  for (int rank = 0; rank < kWorld; ++rank) {
    compressions.push_back(create(kTopK));
    const CompressionState& state = states[static_cast<std::size_t>(rank)];
    EXPECT_TRUE(compressions.back().load(state, rank, kWorld).has_value());
  }
  if (fails_first) {
    LocalGroup failing = make_group({.world = kWorld});
    on_every_rank(failing, [&](Communicator& comm, int rank) {
      if (rank == 2) {
        const Communicator gone = std::move(comm);
        return;
      }
      const auto index = static_cast<std::size_t>(rank);
      Tensors gradients = draw_gradients(rank, 10);
      EXPECT_FALSE(average(compressions[index], comm, gradients).has_value());
      EXPECT_EQ(gradients, draw_gradients(rank, 10));
      EXPECT_EQ(compressions[index].state().entries.size(), states[index].entries.size());
    });
  }
  std::vector<Seen> seen(kWorld);
  LocalGroup group = make_group({.world = kWorld});
  on_every_rank(group, [&](Communicator& comm, int rank) {
    const auto index = static_cast<std::size_t>(rank);
    seen[index] = run_steps(compressions[index], comm, rank, 10, 12);
    seen[index].settings.resize(2);  // the last choice follows from the run's own times
  });
  return seen;
}

TEST(CompressionSteering, GoesOnFromItsStateAndAfterAStepThatFailed) {
  const std::vector<CompressionState> states = states_of_ten_steps();
  const std::vector<Seen> expected = two_steps_from(states, false);
  EXPECT_EQ(two_steps_from(states, false), expected);
  EXPECT_EQ(two_steps_from(states, true), expected);
}

TEST(CompressionSteering, ASavedStateIsThatWhichWasLoaded) {
  const CompressionState state = states_of_ten_steps()[0];
  Compression compression = create(kTopK);
  ASSERT_TRUE(compression.load(state, 0, kWorld).has_value());
  EXPECT_TRUE(is_equal(compression.state(), state));
}

// The error at each rank, if rank 1 passes `other` and loads the state, unless that is null.
std::vector<Error> errors_of(const CompressionOptions& other, const CompressionState* state) {
  std::vector<Error> errors(kWorld);
  LocalGroup group = make_group({.world = kWorld});
  on_every_rank(group, [&](Communicator& comm, int rank) {
    Compression compression = create(rank == 1 ? other : kTopK);
    if (rank == 1 && state != nullptr) {
      EXPECT_TRUE(compression.load(*state, rank, kWorld).has_value());
    }
    Tensors gradients = draw_gradients(rank, 0);
    const auto done = average(compression, comm, gradients);
    if (!done) errors[static_cast<std::size_t>(rank)] = done.error();
    EXPECT_EQ(gradients, draw_gradients(rank, 0));
  });
  return errors;
}

TEST(CompressionSteering, RanksWithOtherSteeringGetOneMismatchThatNamesTheField) {
  CompressionOptions none = kTopK;
  none.steering.reset();
  CompressionOptions finer = kTopK;
  finer.steering->finest = 0.3;
  CompressionOptions looser = kTopK;
  looser.steering->tolerance = 0.2;
  CompressionOptions unskipped = kTopK;
  unskipped.steering->may_skip = false;
  for (const CompressionOptions& other : {none, finer, looser, unskipped}) {
    for (const Error& error : errors_of(other, nullptr)) {
      EXPECT_EQ(error.code, Code::mismatch);
      EXPECT_EQ(error.rank, 1);
      EXPECT_STREQ(error.field, "steering");
      EXPECT_THAT(error.message, HasSubstr("rank 1 has other steering than rank 0"));
    }
  }
  const CompressionState state = states_of_ten_steps()[1];
  for (const Error& error : errors_of(kTopK, &state)) {
    EXPECT_EQ(error.code, Code::mismatch);
    EXPECT_EQ(error.rank, 1);
    EXPECT_STREQ(error.field, "steering state");
  }
}

TEST(CompressionSteering, RefusesAWrongState) {
  const CompressionState state = states_of_ten_steps()[0];
  const auto refusal_of = [&state](const std::function<void(CompressionState::Entry&)>& change) {
    CompressionState changed = state;
    for (auto& entry : changed.entries) {
      if (entry.what == "steering of calls") change(entry);
    }
    const auto loaded = create(kTopK).load(changed, 0, kWorld);
    return loaded ? "" : loaded.error().message;
  };
  EXPECT_EQ(refusal_of([](auto&) {}), "");
  EXPECT_THAT(refusal_of([](auto& entry) { entry.values.pop_back(); }),
              HasSubstr("compression: the state's steering of calls "));
  EXPECT_THAT(refusal_of([](auto& entry) { entry.values.clear(); }), HasSubstr(" is none"));
  EXPECT_THAT(refusal_of([](auto& entry) { entry.values.back() = std::nanf(""); }),
              HasSubstr(" is none"));
  EXPECT_THAT(refusal_of([](auto& entry) { entry.values.front() = 99; }), HasSubstr(" is none"));
  EXPECT_THAT(refusal_of([](auto& entry) { entry.parameter = "layer"; }),
              HasSubstr("steering of calls layer is none"));
  CompressionOptions other = kTopK;
  other.steering->finest = 0.3;
  EXPECT_THAT(
      create(other).load(state, 0, kWorld).error().message,
      HasSubstr("steering ratio 0.001 to 0.2, may skip, tolerance 0.05, this compression is"));
}

TEST(CompressionSteering, RefusesWrongOptions) {
  CompressionOptions wrong = kTopK;
  wrong.steering->setting = "bits";
  EXPECT_EQ(Compression::create(wrong).error().message,
            "compression: steering: topk has no setting \"bits\"; it has: ratio=0.01 travel=0");
  LocalGroup group = make_group({.world = 1});
  Compression compression = create(kTopK);
  EXPECT_TRUE(compression.steered_calls().empty());
  std::vector<float> gradient(10);
  const ParameterView view{"weight", gradient};
  const auto done =
      compression.average(group[0], {&view, 1}, {.hidden = std::chrono::nanoseconds(-1)});
  EXPECT_EQ(done.error().message, "compression: hidden is a time below zero");
}

TEST(CompressionSteering, SaysWhatIsInForce) {
  LocalGroup group = make_group({.world = 1});
  Compression compression = create(kTopK);
  run_steps(compression, group[0], 0, 0, 2);
  std::vector<SteeredCall> calls = compression.steered_calls();
  std::sort(calls.begin(), calls.end(),
            [](const auto& a, const auto& b) { return a.first_parameter < b.first_parameter; });
  ASSERT_EQ(calls.size(), 2U);
  EXPECT_EQ(calls[0].first_parameter, "first");
  EXPECT_EQ(calls[0].parameters, 1U);
  EXPECT_EQ(calls[1].first_parameter, "second");
  EXPECT_EQ(calls[1].parameters, 2U);
  for (const SteeredCall& each : calls) {
    EXPECT_TRUE(each.is_compressed);
    EXPECT_NEAR(each.value, 0.01, 0.002);
  }
}

}  // namespace
}  // namespace infold
