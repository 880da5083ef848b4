// SPDX-License-Identifier: Apache-2.0
//
// Tests what a user may ask for, what is refused, and in which words.
#include "compress/choice.h"

#include "compress/testing.h"

namespace infold::compress {
namespace {

std::string refusal_of(const CompressionRequest& request) {
  const auto choice = CompressionChoice::make(request);
  return choice ? "" : choice.error().message;
}

TEST(CompressionChoice, SaysAllThatItConsistsOf) {
  EXPECT_EQ(choose("shared", {{"bits", 4}}, "residual").text(),
            "shared bits=4 block=512, memory residual decay=1");
  EXPECT_EQ(choose("none").text(), "none, memory none");
}

TEST(CompressionChoice, RefusesUnknownNames) {
  EXPECT_THAT(refusal_of({"zip", {}, "none", {}}),
              testing::StartsWith("there is no method \"zip\"; there are: none, shared"));
  EXPECT_EQ(refusal_of({"none", {}, "all", {}}),
            "there is no memory \"all\"; there are: none, residual, momentum, dgc, ef-sign");
}

TEST(CompressionChoice, RefusesWrongSettings) {
  EXPECT_EQ(refusal_of({"shared", {{"ratio", 1}}, "none", {}}),
            "shared has no setting \"ratio\"; it has: bits=8 block=512");
  EXPECT_EQ(refusal_of({"none", {{"bits", 1}}, "none", {}}), "none has no setting \"bits\"");
  EXPECT_EQ(refusal_of({"shared", {{"bits", 1}}, "none", {}}),
            "shared: bits is 1; the limits are 2 to 16");
  EXPECT_EQ(refusal_of({"shared", {{"bits", 2.5}}, "none", {}}),
            "shared: bits is 2.5; it must be a whole number");
  EXPECT_EQ(refusal_of({"shared", {{"bits", 4}, {"bits", 5}}, "none", {}}),
            "shared: bits is given twice");
  EXPECT_EQ(refusal_of({"shared", {{"bits", std::nan("")}}, "none", {}}),
            "shared: bits is nan; the limits are 2 to 16");
  EXPECT_EQ(refusal_of({"none", {}, "residual", {{"decay", 2}}}),
            "residual: decay is 2; the limits are 0 to 1");
}

// A method that a user has added works like a built-in one.
TEST(CompressionChoice, TakesMethodsOfUsers) {
  Method own = *find_method("onebit");
  own.name = "mine";
  ASSERT_TRUE(add_method(own).has_value());
  EXPECT_EQ(choose("mine", {}, "residual").method().name, "mine");
  const auto again = add_method(own);
  ASSERT_FALSE(again.has_value());
  EXPECT_EQ(again.error().message, "there is a method mine");
  own.name = "onebit";
  EXPECT_FALSE(add_method(own).has_value());
  own.name = "";
  EXPECT_FALSE(add_method(own).has_value());
  own.name = "without make";
  own.make = nullptr;
  EXPECT_FALSE(add_method(own).has_value());
}

// The error of an unbiased method may be larger than the tensor. A residual that adds up such
// errors grows without bound.
TEST(CompressionChoice, RefusesAResidualThatDiverges) {
  Method wild = *find_method("shared");
  wild.name = "wild";
  wild.variance = nullptr;
  ASSERT_TRUE(add_method(wild).has_value());
  EXPECT_EQ(refusal_of({"wild", {}, "residual", {}}),
            "wild with memory residual diverges: its error may be larger than the tensor; take "
            "memory none");
  // Two bits in steps of 8/3 root mean squares: rounding adds up to 1.78 of the tensor's energy.
  EXPECT_EQ(refusal_of({"thc", {{"bits", 2}, {"clip", 4}}, "residual", {}}),
            "thc with memory residual diverges: with bits=2 block=8192 clip=4 its error is up to "
            "1.78 of the tensor's energy; take finer settings, or memory none");
  EXPECT_EQ(refusal_of({"thc", {{"bits", 2}, {"clip", 2}}, "residual", {}}), "");
  EXPECT_EQ(refusal_of({"thc", {{"bits", 2}, {"clip", 4}}, "none", {}}), "");
  // A quarter of the error's energy is carried on.
  EXPECT_EQ(refusal_of({"thc", {{"bits", 2}, {"clip", 4}}, "residual", {{"decay", 0.5}}}), "");
  EXPECT_EQ(refusal_of({"countsketch", {}, "residual", {{"decay", 0}}}), "");
  Method vote = *find_method("onebit");
  vote.name = "vote";
  vote.bias = Bias::direction;
  ASSERT_TRUE(add_method(vote).has_value());
  EXPECT_NE(refusal_of({"vote", {}, "residual", {}}), "");
  EXPECT_EQ(refusal_of({"vote", {}, "momentum", {}}), "");
}

// With a residual, an unbiased method is shrunk until it is contractive. With two bits and one
// block of 4096, the variance is 1,024, so the residual would grow without bound if nothing were
// shrunk.
TEST(CompressionChoice, ShrinksAnUnbiasedMethodForAResidual) {
  constexpr std::size_t kElements = 4096;
  const auto choice =
      CompressionChoice::make({"shared", {{"bits", 2}, {"block", kElements}}, "residual", {}});
  ASSERT_TRUE(choice.has_value());
  const Shape shape{kElements, {}};
  base::Prng prng(1);
  const std::vector<float> gradient = draw_tensor(prng, kElements);
  RoundTable ranks = make_table(*choice, shape, 1);
  const std::unique_ptr<Memory> memory = choice->make_memory(shape);
  const double variance = choice->method().variance(shape, choice->settings());
  for (std::uint64_t step = 0; step < 3000; ++step) {
    const std::span<const float> input = memory->take_in(gradient);
    const std::vector<std::vector<float>> tensors = {{input.begin(), input.end()}};
    ASSERT_TRUE(ranks.meet(tensors, {.seed = 2, .step = step}));
    memory->see(*ranks.ranks()[0]);
    memory->commit();
  }
  // |e| <= |g| / (1 - sqrt(1 - 1 / (1 + variance))), which is about 2 (1 + variance) |g|.
  const double length = std::sqrt(squared_length(*memory->kept()[0].values));
  EXPECT_LE(length, 2 * (1 + variance) * std::sqrt(squared_length(gradient)));
}

}  // namespace
}  // namespace infold::compress
