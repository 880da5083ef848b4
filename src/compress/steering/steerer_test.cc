// SPDX-License-Identifier: Apache-2.0
//
// Tests the steerer on links in virtual time: how close its progress comes to that of the best
// fixed rung, what noise and hostile ranks can do, and that a saved steerer continues in the same
// way.
#include "compress/steering/steerer.h"

#include <array>
#include <functional>
#include <limits>

#include <fmt/format.h>

#include "compress/testing.h"

namespace infold::compress {
namespace {

using Way = Steerer::Setting;

// A link that carries one bucket of 25 MB, of which rungs send 0.1 to 10 %.
struct Link {
  double megabits = 100;
  double latency = 0.002;
  double codec = 0.02;
  double hidden = 0;   // how much the caller's work hides
  double rest = 0.03;  // the time of a step without this call
  double bend = 0.05;  // bends the curve of kept shares; larger: fewer elements have most energy
};

constexpr double kBytes = 25e6;
constexpr std::size_t kRungs = 16;

Steerer::Options usual_options() {
  std::vector<double> sizes;
  for (std::size_t i = 0; i < kRungs; ++i) {
    sizes.push_back(kBytes * 0.001 * std::pow(100.0, static_cast<double>(i) / (kRungs - 1)));
  }
  return {.sizes = sizes, .plain_size = kBytes, .start = 8};
}

double kept_share(const Link& link, const Way& setting) {
  if (setting.is_plain) return 1;
  const double part = usual_options().sizes[setting.rung] / kBytes;
  return part * (1 + link.bend) / (part + link.bend);
}

CallTimes times_of(const Link& link, const Way& setting) {
  const double bytes = setting.is_plain ? kBytes : usual_options().sizes[setting.rung];
  const double collectives = link.latency + bytes * 8 / (link.megabits * 1e6);
  const double codec = setting.is_plain ? 0.001 : link.codec;
  const double period = link.rest + std::max(collectives + codec, link.hidden);
  return {.collectives = static_cast<float>(collectives),
          .codec = static_cast<float>(codec),
          .hidden = static_cast<float>(link.hidden),
          .period = static_cast<float>(period),
          .kept = static_cast<float>(kept_share(link, setting))};
}

double step_time(const Link& link, const Way& setting) {
  return double{times_of(link, setting).period};
}

double progress(const Link& link, const Way& setting) {
  return std::sqrt(kept_share(link, setting));
}

// The progress in a second with the best fixed way.
double best_progress(const Link& link, bool may_skip) {
  double best = may_skip ? 1 / step_time(link, {0, true}) : 0;
  for (std::size_t rung = 0; rung < kRungs; ++rung) {
    best = std::max(best, progress(link, {rung, false}) / step_time(link, {rung, false}));
  }
  return best;
}

// Makes calls one after another. The times of a call reach the steerer after the next call, as in a
// job.
class Training {
 public:
  using Noise = std::function<void(CallTimes& times)>;

  explicit Training(Steerer steerer) : steerer_(std::move(steerer)) {}

  // Returns the time of all steps, divided by the time in which the best fixed way makes the same
  // progress.
  double steps(const Link& link, int count, bool may_skip = false, const Noise& noise = {}) {
    double seconds = 0;
    double made = 0;
    for (int i = 0; i < count; ++i) {
      const Way setting = steerer_.setting();
      settings.push_back(setting);
      const bool is_measured = steerer_.wants_kept();
      steerer_.learn(last_);
      last_ = times_of(link, setting);
      if (!is_measured) last_->kept = CallTimes::kKeptUnknown;
      seconds += step_time(link, setting);
      made += progress(link, setting);
      if (noise) noise(*last_);
    }
    return seconds * best_progress(link, may_skip) / made;
  }
  // Counts how often the setting changed during the last calls.
  int changes(std::size_t calls) const {
    int changes = 0;
    for (std::size_t i = settings.size() - calls; i < settings.size(); ++i) {
      changes += settings[i] == settings[i - 1] ? 0 : 1;
    }
    return changes;
  }
  // Returns the rung that most of the last calls had.
  std::size_t usual_rung(std::size_t calls) const {
    std::array<int, kRungs> counts = {};
    for (std::size_t i = settings.size() - calls; i < settings.size(); ++i) {
      ++counts.at(settings[i].rung);
    }
    return static_cast<std::size_t>(std::max_element(counts.begin(), counts.end()) -
                                    counts.begin());
  }
  Steerer& steerer() { return steerer_; }

  std::vector<Way> settings;

 private:
  Steerer steerer_;
  std::optional<CallTimes> last_;
};

// After this many calls, the steerer has adapted to the present network.
constexpr int kAdapt = 20;
constexpr int kPhase = 300;

TEST(Steerer, FollowsALinkFrom100To20To100Megabits) {
  for (const double hidden : {0.0, 0.05, 0.2, 1.0}) {
    Training training{Steerer(usual_options())};
    for (const double megabits : {100.0, 20.0, 100.0}) {
      SCOPED_TRACE(fmt::format("{} Mbit/s, hidden {}", megabits, hidden));
      const Link link{.megabits = megabits, .hidden = hidden};
      EXPECT_LE(training.steps(link, kAdapt), 1.5);
      EXPECT_LE(training.steps(link, kPhase), 1.15);
      // Only looks remain. Each takes two calls and changes the setting twice.
      EXPECT_LE(training.changes(kPhase), 8);
    }
  }
}

// The steerer sends as many bytes as the caller's work hides, which are fewer on a slower link. In
// these steps more bytes would take more time than they are worth.
TEST(Steerer, TakesTheFinestRungThatIsHidden) {
  Training training{Steerer(usual_options())};
  const Link fast{.megabits = 100, .hidden = 0.2, .rest = 0};
  training.steps(fast, 100);
  const std::size_t fine = training.usual_rung(50);
  EXPECT_LE(step_time(fast, {fine, false}), 0.2 * 1.1);
  EXPECT_GT(step_time(fast, {fine + 1, false}), 0.2 * 1.03);
  const Link slow{.megabits = 20, .hidden = 0.2, .rest = 0};
  training.steps(slow, 100);
  const std::size_t coarse = training.usual_rung(50);
  EXPECT_LT(coarse, fine);
  EXPECT_LE(step_time(slow, {coarse, false}), 0.2 * 1.1);
  EXPECT_GT(step_time(slow, {coarse + 1, false}), 0.2 * 1.03);
}

// The longer the rest of a step takes, the less a finer rung adds to it.
TEST(Steerer, TheRestOfTheStepCounts) {
  std::size_t before = 0;
  for (const double rest : {0.0, 0.3, 3.0}) {
    Training training{Steerer(usual_options())};
    training.steps({.rest = rest}, 200);
    const std::size_t rung = training.usual_rung(50);
    EXPECT_GT(rung, before) << rest;
    before = rung;
  }
  EXPECT_EQ(before, kRungs - 1);
}

// The more of the energy is in few elements, the fewer bytes are worth their time.
TEST(Steerer, WhatIsKeptDecides) {
  std::size_t before = 0;
  for (const double bend : {0.001, 0.01, 1.0}) {
    Training training{Steerer(usual_options())};
    training.steps({.bend = bend}, 100);
    EXPECT_LE(training.steps({.bend = bend}, 200), 1.15);
    const std::size_t rung = training.usual_rung(50);
    EXPECT_GT(rung, before) << bend;
    before = rung;
  }
}

// If the time is nearly all latency, there is no reason to send fewer bytes.
TEST(Steerer, TellsLatencyFromRate) {
  Training training{Steerer(usual_options())};
  const Link far{.megabits = 10'000, .latency = 0.1};
  EXPECT_LE(training.steps(far, 100), 1.15);
  EXPECT_EQ(training.usual_rung(50), kRungs - 1);
}

TEST(Steerer, NoiseAndOutliersMoveLittle) {
  constexpr int kRepetitions = 20;
  double sum = 0;
  for (std::uint64_t seed = 0; seed < kRepetitions; ++seed) {
    base::Prng prng(seed);
    const auto noise = [&prng](CallTimes& times) {
      const float before = times.collectives;
      times.collectives *= static_cast<float>(std::exp(0.15 * draw_normal(prng)));
      if (prng.uniform() < 0.05) times.collectives += 0.5F;
      times.period += times.collectives - before;
    };
    Training training{Steerer(usual_options())};
    for (const double megabits : {100.0, 20.0, 100.0}) {
      const Link link{.megabits = megabits, .hidden = 0.1};
      training.steps(link, 2 * kAdapt, false, noise);
      sum += training.steps(link, kPhase, false, noise);
      EXPECT_LE(training.changes(kPhase), 45) << "seed " << seed;
    }
  }
  EXPECT_LE(sum / (3 * kRepetitions), 1.1);
}

// One rank comes half a second late to each call, and all others wait for this straggler.
TEST(Steerer, AStragglerIsNoSlowNetwork) {
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
  Training alone{Steerer(usual_options())};
  Training waiting{Steerer(usual_options())};
  const Link link{.hidden = 0.1};
  alone.steps(link, 100);
  waiting.steps(link, 100, false, straggle);
  EXPECT_EQ(waiting.settings, alone.settings);
}

TEST(Steerer, SkipsWherePlainCallsAreFaster) {
  Steerer::Options options = usual_options();
  options.may_skip = true;
  Training training{Steerer(options)};
  const Link fast{.megabits = 40'000, .latency = 0.0005};
  const Link slow{.megabits = 100, .latency = 0.0005};
  for (int round = 0; round < 2; ++round) {
    training.steps(fast, kAdapt, true);
    EXPECT_LE(training.steps(fast, kPhase, true), 1.15);
    EXPECT_TRUE(training.steerer().setting().is_plain);
    training.steps(slow, kAdapt, true);
    EXPECT_LE(training.steps(slow, kPhase, true), 1.15);
    EXPECT_FALSE(training.steerer().setting().is_plain);
  }
}

// Even if the codec is ten thousand times slower than the network, looking at it must not cost
// much.
TEST(Steerer, LooksAreBoundedHoweverSlowTheOtherWayIs) {
  Steerer::Options options = usual_options();
  options.may_skip = true;
  for (const double codec : {0.1, 1.0, 100.0}) {
    Training training{Steerer(options)};
    const Link link{.megabits = 40'000, .latency = 0.0005, .codec = codec};
    training.steps(link, kAdapt, true);
    EXPECT_LE(training.steps(link, 5000, true), 1 + Steerer::kLookShare + 0.01);
  }
  Training training{Steerer(options)};
  const Link link{.megabits = 1};
  training.steps(link, kAdapt, true);
  EXPECT_LE(training.steps(link, 5000, true), 1.15);
}

// With one rung, the only choice is between that rung and plain calls.
TEST(Steerer, MaySkipWithoutASetting) {
  Training training{Steerer({.sizes = {1}, .may_skip = true})};
  training.steps({.megabits = 40'000, .latency = 0.0005}, 30, true);
  EXPECT_TRUE(training.steerer().setting().is_plain);
  training.steps({.megabits = 20, .latency = 0.0005}, 30, true);
  EXPECT_FALSE(training.steerer().setting().is_plain);
  Training fixed{Steerer({.sizes = {1}})};
  fixed.steps({}, 100);
  EXPECT_EQ(fixed.changes(99), 0);
}

TEST(CallTimes, WhatIsNoTimeIsUnknown) {
  const float nan = std::nanf("");
  const float infinity = std::numeric_limits<float>::infinity();
  const CallTimes times{.collectives = 2, .codec = 1, .hidden = 3, .period = 4, .kept = 0.5F};
  EXPECT_EQ(from_maxima(to_maxima(times)), times);
  const CallTimes least{.collectives = kCallSecondsMin, .kept = 0};
  EXPECT_EQ(from_maxima(TimesMaxima{}), least);
  EXPECT_FALSE(from_maxima(to_maxima(std::nullopt)));
  for (const float wrong : {nan, infinity, -infinity, 1e9F}) {
    for (std::size_t i = 0; i < TimesMaxima{}.size(); ++i) {
      TimesMaxima maxima = to_maxima(times);
      maxima.at(i) = wrong;
      EXPECT_FALSE(from_maxima(maxima)) << i << " " << wrong;
    }
  }
  for (const float wrong : {0.1F, -1.5F, -3.0F}) {
    EXPECT_FALSE(from_maxima(TimesMaxima{-1, 1, 1, 1, wrong})) << wrong;
  }
}

// A rank that did not measure does not hide what the others measured.
TEST(CallTimes, TheLeastKnownShareCounts) {
  TimesMaxima agreed = to_maxima(CallTimes{});
  for (const float kept : {0.5F, 0.25F}) {
    const TimesMaxima one = to_maxima(CallTimes{.kept = kept});
    for (std::size_t i = 0; i < agreed.size(); ++i) agreed[i] = std::max(agreed[i], one[i]);
  }
  EXPECT_EQ(from_maxima(agreed).value().kept, 0.25F);
}

// A rank may claim any times. Settings must stay within their limits, and a saved steerer must load
// again. Without plain calls, the steerer recovers once the times are honest again.
TEST(Steerer, HostileTimesOnlyCostTime) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    SCOPED_TRACE(seed);
    base::Prng prng(seed);
    const auto draw = [&prng] {
      return static_cast<float>(std::pow(10.0, prng.uniform() * 11 - 6));
    };
    Steerer::Options options = usual_options();
    options.may_skip = seed % 2 == 0;
    Training training{Steerer(options)};
    training.steps({}, 300, options.may_skip, [&](CallTimes& times) {
      const auto draw_or_zero = [&] { return prng.uniform() < 0.5 ? 0 : draw(); };
      times = {.collectives = draw(),
               .codec = draw_or_zero(),
               .hidden = draw_or_zero(),
               .period = draw_or_zero(),
               .kept = static_cast<float>(prng.uniform())};
    });
    for (const Way& each : training.settings) EXPECT_LT(each.rung, kRungs);
    Steerer again(options);
    EXPECT_TRUE(again.load(training.steerer().state()));
    if (options.may_skip) continue;
    training.steps({}, 200);
    EXPECT_LE(training.steps({}, kPhase), 1.15);
  }
}

TEST(Steerer, UnknownTimesChangeNothing) {
  Steerer steerer(usual_options());
  for (int i = 0; i < 100; ++i) {
    steerer.learn(std::nullopt);
    EXPECT_TRUE(steerer.setting().rung == 8 || i < 6);
  }
}

TEST(Steerer, GoesOnFromItsState) {
  Steerer::Options options = usual_options();
  options.may_skip = true;
  for (int calls = 0; calls < 60; ++calls) {
    Training training{Steerer(options)};
    training.steps({.hidden = 0.1}, calls);
    Steerer resumed(options);
    ASSERT_TRUE(resumed.load(training.steerer().state()));
    EXPECT_EQ(resumed.state(), training.steerer().state());
    for (int i = 0; i < 60; ++i) {
      const CallTimes times = times_of({.megabits = 20}, resumed.setting());
      EXPECT_EQ(resumed.setting(), training.steerer().setting());
      resumed.learn(times);
      training.steerer().learn(times);
    }
  }
}

TEST(Steerer, RefusesAStateThatIsNone) {
  Steerer steerer(usual_options());
  const std::vector<float> state = steerer.state();
  EXPECT_FALSE(steerer.load({}));
  EXPECT_FALSE(steerer.load(std::span(state).first(state.size() - 1)));
  for (std::size_t i = 0; i < state.size(); ++i) {
    for (const float wrong : {std::nanf(""), -2.0F, 1e9F}) {
      std::vector<float> changed = state;
      changed[i] = wrong;
      EXPECT_FALSE(steerer.load(changed)) << i << " " << wrong;
    }
  }
  std::vector<float> beyond = state;
  beyond[0] = kRungs;  // plain, which is not allowed here
  EXPECT_FALSE(steerer.load(beyond));
  beyond[0] = 0.5F;
  EXPECT_FALSE(steerer.load(beyond));
  EXPECT_EQ(steerer.state(), state);
}

}  // namespace
}  // namespace infold::compress
