// SPDX-License-Identifier: Apache-2.0
//
// The controller on links in virtual time: how near it comes to the best fixed rung, what noise and
// hostile ranks do, and that a saved one goes on alike.
#include "codec/control/controller.h"

#include <array>
#include <functional>
#include <limits>

#include <fmt/format.h>

#include "codec/compress/testing.h"

namespace infold::codec {
namespace {

using Setting = Controller::Setting;

// One bucket of 25 MB, of which rungs send 0.1 to 10 %.
struct Link {
  double megabits = 100;
  double latency = 0.002;
  double codec = 0.02;
  double hidden = 0;  // by the caller's work
};

constexpr double kBytes = 25e6;
constexpr std::size_t kRungs = 16;

Controller::Options usual_options() {
  std::vector<double> sizes;
  for (std::size_t i = 0; i < kRungs; ++i) {
    sizes.push_back(kBytes * 0.001 * std::pow(100.0, static_cast<double>(i) / (kRungs - 1)));
  }
  return {.sizes = sizes, .start = 8};
}

CallTimes times_of(const Link& link, const Setting& setting) {
  const double bytes = setting.is_plain ? kBytes : usual_options().sizes[setting.rung];
  return {static_cast<float>(link.latency + bytes * 8 / (link.megabits * 1e6)),
          static_cast<float>(setting.is_plain ? 0.001 : link.codec),
          static_cast<float>(link.hidden)};
}

double step_time(const Link& link, const Setting& setting) {
  const CallTimes times = times_of(link, setting);
  return std::max(link.hidden, double{times.collectives} + double{times.codec});
}

double best_time(const Link& link, bool may_skip) {
  double best = may_skip ? step_time(link, {0, true}) : 1e9;
  for (std::size_t rung = 0; rung < kRungs; ++rung) {
    best = std::min(best, step_time(link, {rung, false}));
  }
  return best;
}

// Makes calls one after the other. Times reach the controller with the call after, as in a job.
class Training {
 public:
  using Noise = std::function<void(CallTimes& times)>;

  explicit Training(Controller controller) : controller_(std::move(controller)) {}

  // The time of all steps, over that of the best fixed way.
  double steps(const Link& link, int count, bool may_skip = false, const Noise& noise = {}) {
    double whole = 0;
    for (int i = 0; i < count; ++i) {
      const Setting setting = controller_.setting();
      settings.push_back(setting);
      controller_.learn(last_);
      last_ = times_of(link, setting);
      whole += step_time(link, setting);
      if (noise) noise(*last_);
    }
    return whole / (count * best_time(link, may_skip));
  }
  // Of the last calls.
  int changes(std::size_t calls) const {
    int changes = 0;
    for (std::size_t i = settings.size() - calls; i < settings.size(); ++i) {
      changes += settings[i] == settings[i - 1] ? 0 : 1;
    }
    return changes;
  }
  // The one that most of the last calls had.
  std::size_t usual_rung(std::size_t calls) const {
    std::array<int, kRungs> counts = {};
    for (std::size_t i = settings.size() - calls; i < settings.size(); ++i) {
      ++counts.at(settings[i].rung);
    }
    return static_cast<std::size_t>(std::max_element(counts.begin(), counts.end()) -
                                    counts.begin());
  }
  Controller& controller() { return controller_; }

  std::vector<Setting> settings;

 private:
  Controller controller_;
  std::optional<CallTimes> last_;
};

// Calls after which the present network has been understood.
constexpr int kAdapt = 20;
constexpr int kPhase = 300;

TEST(Controller, FollowsALinkFrom100To20To100Megabits) {
  for (const double hidden : {0.0, 0.05, 0.2, 1.0}) {
    Training training{Controller(usual_options())};
    for (const double megabits : {100.0, 20.0, 100.0}) {
      SCOPED_TRACE(fmt::format("{} Mbit/s, hidden {}", megabits, hidden));
      const Link link{.megabits = megabits, .hidden = hidden};
      EXPECT_LE(training.steps(link, kAdapt), 1.5);
      EXPECT_LE(training.steps(link, kPhase), 1.15);
      // What is left are looks of two calls, there and back.
      EXPECT_LE(training.changes(kPhase), 8);
    }
  }
}

// Without work that hides it, bytes cost accuracy only where they cost no time.
TEST(Controller, TakesTheFinestRungThatIsHidden) {
  Training training{Controller(usual_options())};
  const Link fast{.megabits = 100, .hidden = 0.2};
  training.steps(fast, 100);
  const std::size_t fine = training.usual_rung(50);
  EXPECT_LE(step_time(fast, {fine, false}), 0.2 * 1.1);
  EXPECT_GT(step_time(fast, {fine + 1, false}), 0.2 * 1.06);
  const Link slow{.megabits = 20, .hidden = 0.2};
  training.steps(slow, 100);
  const std::size_t coarse = training.usual_rung(50);
  EXPECT_LT(coarse, fine);
  EXPECT_LE(step_time(slow, {coarse, false}), 0.2 * 1.1);
  EXPECT_GT(step_time(slow, {coarse + 1, false}), 0.2 * 1.06);
}

// A latency beside which bytes are nothing is no reason to send fewer.
TEST(Controller, TellsLatencyFromRate) {
  Training training{Controller(usual_options())};
  const Link far{.megabits = 10'000, .latency = 0.1};
  EXPECT_LE(training.steps(far, 100), 1.15);
  EXPECT_EQ(training.usual_rung(50), kRungs - 1);
}

TEST(Controller, NoiseAndOutliersMoveLittle) {
  constexpr int kRepetitions = 20;
  double sum = 0;
  for (std::uint64_t seed = 0; seed < kRepetitions; ++seed) {
    base::Prng prng(seed);
    const auto noise = [&prng](CallTimes& times) {
      times.collectives *= static_cast<float>(std::exp(0.15 * draw_normal(prng)));
      if (prng.uniform() < 0.05) times.collectives += 0.5F;
    };
    Training training{Controller(usual_options())};
    for (const double megabits : {100.0, 20.0, 100.0}) {
      const Link link{.megabits = megabits, .hidden = 0.1};
      training.steps(link, 2 * kAdapt, false, noise);
      sum += training.steps(link, kPhase, false, noise);
      EXPECT_LE(training.changes(kPhase), 45) << "seed " << seed;
    }
  }
  EXPECT_LE(sum / (3 * kRepetitions), 1.1);
}

// One rank comes half a second late to each call, and all others wait for it.
TEST(Controller, AStragglerIsNoSlowNetwork) {
  const auto straggle = [](CallTimes& times) {
    TimesMaxima agreed = to_maxima(times);
    CallTimes waiting = times;
    waiting.collectives += 0.5F;
    for (int rank = 0; rank < 3; ++rank) {
      const TimesMaxima one = to_maxima(waiting);
      for (std::size_t i = 0; i < agreed.size(); ++i) agreed[i] = std::max(agreed[i], one[i]);
    }
    times = from_maxima(agreed).value();
  };
  Training alone{Controller(usual_options())};
  Training waiting{Controller(usual_options())};
  const Link link{.hidden = 0.1};
  alone.steps(link, 100);
  waiting.steps(link, 100, false, straggle);
  EXPECT_EQ(waiting.settings, alone.settings);
}

TEST(Controller, SkipsWherePlainCallsAreFaster) {
  Controller::Options options = usual_options();
  options.may_skip = true;
  Training training{Controller(options)};
  const Link fast{.megabits = 40'000, .latency = 0.0005};
  const Link slow{.megabits = 100, .latency = 0.0005};
  for (int round = 0; round < 2; ++round) {
    training.steps(fast, kAdapt, true);
    EXPECT_LE(training.steps(fast, kPhase, true), 1.15);
    EXPECT_TRUE(training.controller().setting().is_plain);
    training.steps(slow, kAdapt, true);
    EXPECT_LE(training.steps(slow, kPhase, true), 1.15);
    EXPECT_FALSE(training.controller().setting().is_plain);
  }
}

// A codec that is slower than the network by a factor of ten thousand is looked at in vain.
TEST(Controller, LooksAreBoundedHoweverSlowTheOtherWayIs) {
  Controller::Options options = usual_options();
  options.may_skip = true;
  for (const double codec : {0.1, 1.0, 100.0}) {
    Training training{Controller(options)};
    const Link link{.megabits = 40'000, .latency = 0.0005, .codec = codec};
    training.steps(link, kAdapt, true);
    EXPECT_LE(training.steps(link, 5000, true), 1 + Controller::kLookShare + 0.01);
  }
  Training training{Controller(options)};
  const Link link{.megabits = 1};
  training.steps(link, kAdapt, true);
  EXPECT_LE(training.steps(link, 5000, true), 1.15);
}

// With one rung there is only the choice between that and plain calls.
TEST(Controller, MaySkipWithoutASetting) {
  Training training{Controller({.sizes = {1}, .may_skip = true})};
  training.steps({.megabits = 40'000, .latency = 0.0005}, 30, true);
  EXPECT_TRUE(training.controller().setting().is_plain);
  training.steps({.megabits = 20, .latency = 0.0005}, 30, true);
  EXPECT_FALSE(training.controller().setting().is_plain);
  Training fixed{Controller({.sizes = {1}})};
  fixed.steps({}, 100);
  EXPECT_EQ(fixed.changes(99), 0);
}

TEST(CallTimes, WhatIsNoTimeIsUnknown) {
  const float nan = std::nanf("");
  const float infinity = std::numeric_limits<float>::infinity();
  EXPECT_EQ(from_maxima(to_maxima(CallTimes{2, 1, 3})), (CallTimes{2, 1, 3}));
  EXPECT_EQ(from_maxima(TimesMaxima{-0.0F, 0, 0}), (CallTimes{kCallSecondsMin, 0, 0}));
  EXPECT_FALSE(from_maxima(to_maxima(std::nullopt)));
  for (const float wrong : {nan, infinity, -infinity, 1e9F}) {
    EXPECT_FALSE(from_maxima(TimesMaxima{wrong, 1, 1})) << wrong;
    EXPECT_FALSE(from_maxima(TimesMaxima{-1, wrong, 1})) << wrong;
    EXPECT_FALSE(from_maxima(TimesMaxima{-1, 1, wrong})) << wrong;
  }
}

// A rank may say anything that is a time. Settings stay in their limits, and a saved controller is
// taken back. Without plain calls, an honest network is understood again.
TEST(Controller, HostileTimesOnlyCostTime) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    SCOPED_TRACE(seed);
    base::Prng prng(seed);
    const auto draw = [&prng] {
      return static_cast<float>(std::pow(10.0, prng.uniform() * 11 - 6));
    };
    Controller::Options options = usual_options();
    options.may_skip = seed % 2 == 0;
    Training training{Controller(options)};
    training.steps({}, 300, options.may_skip, [&](CallTimes& times) {
      times = {draw(), prng.uniform() < 0.5 ? 0 : draw(), prng.uniform() < 0.5 ? 0 : draw()};
    });
    for (const Setting& each : training.settings) EXPECT_LT(each.rung, kRungs);
    Controller again(options);
    EXPECT_TRUE(again.load(training.controller().state()));
    if (options.may_skip) continue;
    training.steps({}, 200);
    EXPECT_LE(training.steps({}, kPhase), 1.15);
  }
}

TEST(Controller, UnknownTimesChangeNothing) {
  Controller controller(usual_options());
  for (int i = 0; i < 100; ++i) {
    controller.learn(std::nullopt);
    EXPECT_TRUE(controller.setting().rung == 8 || i < 6);
  }
}

TEST(Controller, GoesOnFromItsState) {
  Controller::Options options = usual_options();
  options.may_skip = true;
  for (int calls = 0; calls < 60; ++calls) {
    Training training{Controller(options)};
    training.steps({.hidden = 0.1}, calls);
    Controller resumed(options);
    ASSERT_TRUE(resumed.load(training.controller().state()));
    EXPECT_EQ(resumed.state(), training.controller().state());
    for (int i = 0; i < 60; ++i) {
      const CallTimes times = times_of({.megabits = 20}, resumed.setting());
      EXPECT_EQ(resumed.setting(), training.controller().setting());
      resumed.learn(times);
      training.controller().learn(times);
    }
  }
}

TEST(Controller, RefusesAStateThatIsNone) {
  Controller controller(usual_options());
  const std::vector<float> state = controller.state();
  EXPECT_FALSE(controller.load({}));
  EXPECT_FALSE(controller.load(std::span(state).first(state.size() - 1)));
  for (std::size_t i = 0; i < state.size(); ++i) {
    for (const float wrong : {std::nanf(""), -2.0F, 1e9F}) {
      std::vector<float> changed = state;
      changed[i] = wrong;
      EXPECT_FALSE(controller.load(changed)) << i << " " << wrong;
    }
  }
  std::vector<float> beyond = state;
  beyond[0] = kRungs;  // plain, which it may not
  EXPECT_FALSE(controller.load(beyond));
  beyond[0] = 0.5F;
  EXPECT_FALSE(controller.load(beyond));
  EXPECT_EQ(controller.state(), state);
}

}  // namespace
}  // namespace infold::codec
