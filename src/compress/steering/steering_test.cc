// SPDX-License-Identifier: Apache-2.0
//
// Tests which options of steering are accepted, and what a user reads if they are refused.
#include "compress/steering/steering.h"

#include "compress/testing.h"

namespace infold::compress {
namespace {

Steering steer(const SteeringOptions& options, const CompressionRequest& request) {
  auto steering = Steering::make(options, request);
  EXPECT_TRUE(steering.has_value()) << steering.error().message;
  return *std::move(steering);
}

std::string refusal_of(const SteeringOptions& options, const CompressionRequest& request) {
  const auto steering = Steering::make(options, request);
  return steering ? "" : steering.error().message;
}

const CompressionRequest kTopK = {"topk", {}, "residual", {}};
const SteeringOptions kRatio = {.setting = "ratio", .cheapest = 0.001, .finest = 0.1};
const Shape kShapes[] = {{1'000'000, {}}, {5, {}}};

TEST(Steering, GoesFromTheCheapestToTheFinest) {
  const Steering steering = steer(kRatio, kTopK);
  EXPECT_EQ(steering.value(0), 0.001);
  EXPECT_EQ(steering.value(1), 0.001359);
  EXPECT_EQ(steering.value(Steering::kRungsMax - 1), 0.1);
  EXPECT_EQ(steering.choice(1).text(), "topk ratio=0.001359 travel=0, memory residual decay=1");
  EXPECT_EQ(steering.text(), "ratio 0.001 to 0.1, tolerance 0.05");
}

TEST(Steering, BeginsAtTheMethodsSetting) {
  const auto first = [](const CompressionRequest& request) {
    const Steering steering = steer(kRatio, request);
    return steering.value(steering.make_steerer(kShapes, 4).setting().rung);
  };
  EXPECT_EQ(first(kTopK), 0.008577);  // next to the usual 0.01
  EXPECT_EQ(first({"topk", {{"ratio", 0.1}}, "residual", {}}), 0.1);
}

TEST(Steering, LimitsMayBeLeftOut) {
  const auto text = [](const char* setting, const CompressionRequest& request) {
    return steer({.setting = setting}, request).text();
  };
  EXPECT_EQ(text("ratio", kTopK), "ratio 0.01 to 0.7356, tolerance 0.05");
  EXPECT_EQ(text("ratio", {"topk", {{"ratio", 0.1}}, "residual", {}}),
            "ratio 0.1 to 0.8577, tolerance 0.05");
  EXPECT_EQ(text("bits", {"shared", {{"bits", 4}}, "none", {}}), "bits 4 to 15, tolerance 0.05");
  EXPECT_EQ(refusal_of({.setting = "value"}, {"threshold", {}, "residual", {}}),
            "steering: value of threshold has no usual limits; give cheapest and finest");
  EXPECT_EQ(refusal_of({.setting = "ratio"}, {"topk", {{"ratio", 1}}, "residual", {}}),
            "steering: ratio of topk has no usual limits; give cheapest and finest");
}

TEST(Steering, WholeSettingsStayWhole) {
  const Steering bits =
      steer({.setting = "bits", .cheapest = 2, .finest = 8}, {"shared", {}, "none", {}});
  for (std::size_t rung = 0; rung < 7; ++rung) {
    EXPECT_EQ(bits.value(rung), 2 + static_cast<double>(rung));
  }
}

// For this setting, a larger value means fewer bytes.
TEST(Steering, LimitsMayFall) {
  const Steering steering =
      steer({.setting = "value", .cheapest = 1, .finest = 0.01}, {"threshold", {}, "residual", {}});
  EXPECT_EQ(steering.value(0), 1);
  EXPECT_EQ(steering.value(Steering::kRungsMax - 1), 0.01);
}

TEST(Steering, MaySkipWithoutASetting) {
  const Steering steering = steer({.may_skip = true}, {"powersgd", {}, "residual", {}});
  EXPECT_EQ(steering.value(0), 0);
  EXPECT_EQ(steering.choice(0).text(), "powersgd rank=4, memory residual decay=1");
  EXPECT_EQ(steering.text(), "may skip, tolerance 0.05");
}

TEST(Steering, RefusesWhatHasNoMeaning) {
  const auto with = [](SteeringOptions options, const auto& change) {
    change(options);
    return refusal_of(options, kTopK);
  };
  EXPECT_EQ(refusal_of({}, kTopK), "steering: it changes nothing; name a setting, or set may_skip");
  EXPECT_EQ(with(kRatio, [](auto& each) { each.setting = "bits"; }),
            "steering: topk has no setting \"bits\"; it has: ratio=0.01 travel=0");
  EXPECT_EQ(with(kRatio, [](auto& each) { each.finest = 2; }),
            "steering: topk: ratio is 2; the limits are 1e-07 to 1");
  EXPECT_EQ(with(kRatio, [](auto& each) { each.cheapest = std::nan(""); }),
            "steering: topk: ratio is nan; the limits are 1e-07 to 1");
  EXPECT_EQ(with(kRatio, [](auto& each) { each.cheapest = 0.1; }),
            "steering: cheapest and finest are 0.1 both");
  EXPECT_EQ(with(kRatio, [](auto& each) { each.tolerance = 0; }),
            "steering: tolerance is 0; the limits are 0.01 to 1");
  EXPECT_EQ(with(kRatio, [](auto& each) { each.tolerance = std::nan(""); }),
            "steering: tolerance is nan; the limits are 0.01 to 1");
  EXPECT_EQ(refusal_of({.cheapest = 1, .may_skip = true}, kTopK),
            "steering: it has limits, and no setting for them");
  EXPECT_EQ(refusal_of(kRatio, {"topk", {{"ratio", 0.2}}, "residual", {}}),
            "steering: ratio begins at 0.2; the limits of steering are 0.001 to 0.1");
}

TEST(Steering, RefusesMethodsItWouldBreak) {
  EXPECT_EQ(
      refusal_of({.setting = "rank", .cheapest = 1, .finest = 8}, {"powersgd", {}, "residual", {}}),
      "steering: powersgd carries numbers from step to step, which another rank would not "
      "fit; it can only skip");
  EXPECT_EQ(refusal_of({.may_skip = true}, {"none", {}, "none", {}}),
            "steering: none has nothing to skip");
  EXPECT_THAT(refusal_of({.may_skip = true}, {"signum", {}, "momentum", {}}),
              testing::HasSubstr("signum gives directions, and plain calls give sizes"));
  EXPECT_EQ(refusal_of({.may_skip = true}, {"topk", {}, "dgc", {}}),
            "steering: with may_skip, the memory dgc would lose its momentum at each plain call");
}

// A value between the limits may not work for a world, so all values are checked before the first
// call.
TEST(Steering, LooksAtAllValuesBeforehand) {
  const CompressionRequest request = {"thc", {{"bits", 4}}, "residual", {}};
  const Steering steering = steer({.setting = "bits", .cheapest = 2, .finest = 8}, request);
  EXPECT_FALSE(steering.check({1000, {}}, 2));
  Method own = *find_method("thc");
  own.name = "small worlds";
  own.check = [](const Shape&, const Settings& settings,
                 std::uint32_t world) -> std::optional<Error> {
    if (settings["bits"] * world < 16) return std::nullopt;
    return Error{Code::unsupported, "too many bits", -1, ""};
  };
  static const bool is_added = add_method(own).has_value();  // only once, even if tests repeat
  ASSERT_TRUE(is_added);
  const Steering narrow =
      steer({.setting = "bits", .cheapest = 2, .finest = 8}, {"small worlds", {}, "residual", {}});
  EXPECT_EQ(narrow.check({1000, {}}, 2).value().message, "steering: too many bits");
}

}  // namespace
}  // namespace infold::compress
