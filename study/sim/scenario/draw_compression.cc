// SPDX-License-Identifier: Apache-2.0
//
// Draws how a call is compressed. Legs of these methods are lanes, maxima and floats, in sizes that
// do not depend on values. Other methods gather codes, which are broadcasts on the network, or
// travel as rows, which are sparse sums. Both kinds of calls are also drawn without a compressor.
#include <cmath>
#include <initializer_list>
#include <iterator>
#include <utility>

#include "study/sim/scenario/draw.h"

namespace infold::sim {
namespace {

double pick(std::initializer_list<double> choices, base::Prng& prng) {
  return std::data(choices)[prng.below(choices.size())];
}

double whole(std::int64_t least, std::int64_t most, base::Prng& prng) {
  return static_cast<double>(prng.between(least, most));
}

using Method = CompressionPlan (*)(base::Prng&);

// Blocks are about as long as drawn tensors, so some tensors have many blocks and some only a part
// of one.
constexpr Method kMethods[] = {
    [](base::Prng&) { return CompressionPlan{.method = "none"}; },
    [](base::Prng& prng) {
      return CompressionPlan{
          .method = "shared",
          .settings = {{"bits", whole(2, 16, prng)}, {"block", pick({32, 100, 512, 8192}, prng)}}};
    },
    [](base::Prng& prng) {
      return CompressionPlan{.method = "thc",
                             .settings = {{"bits", whole(2, 8, prng)},
                                          {"block", pick({32, 256, 8192}, prng)},
                                          {"clip", pick({1, 2.5, 16}, prng)}}};
    },
    [](base::Prng& prng) {
      return CompressionPlan{
          .method = "scaledsign",
          .settings = {{"bucket", pick({0, 1, 100, 512}, prng)}, {"abstain", pick({0, 1}, prng)}}};
    },
    [](base::Prng& prng) {
      return CompressionPlan{.method = "signsgd", .settings = {{"abstain", pick({0, 1}, prng)}}};
    },
    [](base::Prng& prng) {
      return CompressionPlan{
          .method = "randomk",
          .settings = {{"ratio", pick({0.01, 0.3, 1}, prng)}, {"block", pick({1, 7, 64}, prng)}}};
    },
    [](base::Prng& prng) {
      return CompressionPlan{.method = "powersgd", .settings = {{"rank", whole(1, 4, prng)}}};
    },
    [](base::Prng& prng) {
      return CompressionPlan{.method = "countsketch",
                             .settings = {{"ratio", pick({0.1, 0.5, 1}, prng)},
                                          {"rows", whole(1, 5, prng)},
                                          {"kept", pick({0.01, 0.2}, prng)},
                                          {"feedback", pick({0, 1}, prng)}}};
    },
};

}  // namespace

void compress(CallPlan& call, base::Prng& prng) {
  call.layout = {core::WireFormat::native, core::DataType::f32};
  call.values.dtype = core::DataType::f32;
  call.reduction = core::Reduction::average;
  CompressionPlan compression = kMethods[prng.below(std::size(kMethods))](prng);
  // The tensor becomes a matrix that is nearly square and has at most as many elements.
  const auto rows = static_cast<std::size_t>(std::sqrt(static_cast<double>(call.elements)));
  compression.sides = {rows, call.elements / rows};
  call.elements = rows * compression.sides[1];
  call.compression = std::move(compression);
}

}  // namespace infold::sim
