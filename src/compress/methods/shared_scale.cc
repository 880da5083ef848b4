// SPDX-License-Identifier: Apache-2.0
//
// The method `shared`: in the first leg, all ranks agree on the largest magnitude of each block. In
// the second leg, each element is an integer in steps of that magnitude, and aggregators add these
// integers. The result is the exact mean of what the ranks sent, rounded once.
//
// A code is 0 to levels, where levels is even and levels / 2 stands for zero, so a zero stays a
// zero. Each code is rounded up or down at random, so that its mean is the element. A block that
// has a NaN or an infinity at any rank becomes NaN at all ranks.
#include <algorithm>
#include <cmath>
#include <limits>

#include "compress/agreed_scales.h"
#include "compress/counter_random.h"
#include "compress/lanes.h"
#include "compress/magnitudes.h"
#include "compress/methods/methods.h"
#include "compress/pieces.h"

namespace infold::compress {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

std::uint32_t levels_of(const Settings& settings) {
  return (std::uint32_t{1} << static_cast<std::uint32_t>(settings["bits"])) - 2;
}

class SharedScale final : public AgreedScalesCompressor {
 public:
  SharedScale(std::size_t elements, std::uint32_t levels, std::size_t block)
      : AgreedScalesCompressor(Travel::maxima, (elements + block - 1) / block),
        levels_(levels),
        block_(block) {}

  void write_mean(std::span<float> mean) override { decode(sums(), turn().world, mean); }
  void write_sent(std::span<float> sent) const override { decode(codes_, 1, sent); }

 private:
  void measure(std::span<float> scales) override {
    for_each_piece(0, tensor().size(), block_, [&](auto block, auto first, auto size) {
      scales[block] = largest_magnitude(tensor().subspan(first, size));
    });
  }

  std::span<const std::uint32_t> encode() override {
    lanes_ = Lanes::fit(levels_, turn().world).value();
    const std::uint64_t key = CounterRandom::own(turn(), 0).key();
    const auto half = static_cast<float>(levels_ / 2);
    pack_lanes(lanes_, tensor().size(), codes_, [&](std::size_t begin, auto codes) {
      for_each_piece(begin, codes.size(), block_, [&](auto block, auto first, auto size) {
        std::uint32_t* const at = codes.data() + (first - begin);
        const float most = scales()[block];
        if (most > 0 && most < kInfinity) {
          numeric::code_loops().quantise(
              tensor().data() + first, size,
              {.divisor = most, .factor = half, .zero = half, .most = half + half},
              {.key = key, .first = first}, at);
        } else {
          std::fill_n(at, size, levels_ / 2);
        }
      });
    });
    return codes_;
  }

  void decode(std::span<const std::uint32_t> sums, std::uint32_t summed,
              std::span<float> out) const {
    const double zero = static_cast<double>(levels_ / 2) * summed;
    unpack_lanes(lanes_, sums, out.size(), [&](std::size_t begin, auto codes) {
      for_each_piece(begin, codes.size(), block_, [&](auto block, auto first, auto size) {
        // An infinite unit would turn only zeros into NaN, so use NaN itself.
        const float most = scales()[block];
        const double unit = std::isinf(most) ? kNan : double{most} / zero;
        numeric::code_loops().restore(codes.data() + (first - begin), size, zero, unit,
                                      out.data() + first);
      });
    });
  }

  std::uint32_t levels_;
  std::size_t block_;
  Lanes lanes_;
  std::vector<std::uint32_t> codes_;
};

std::optional<Error> check(const Shape&, const Settings& settings, std::uint32_t world) {
  if (Lanes::fit(levels_of(settings), world)) return std::nullopt;
  return Error{Code::unsupported, "shared: 32 bits do not hold the sum of so many ranks' codes", -1,
               ""};
}

// A step is 2 / levels of the block's largest magnitude. Rounding at random has a variance of at
// most a quarter of the step's square for each element of the block.
double variance(const Shape& shape, const Settings& settings) {
  const double step = 2.0 / levels_of(settings);
  const double block = std::min(settings["block"], static_cast<double>(shape.elements));
  return block * step * step / 4;
}

}  // namespace

Method shared_scale_method() {
  return {.name = "shared",
          .summary = "integers under scales that ranks agree on, added by aggregators",
          .bias = Bias::unbiased,
          .settings = {{.name = "bits",
                        .usual = 8,
                        .least = 2,
                        .most = 16,
                        .is_whole = true,
                        .meaning = "bits of an element's code"},
                       {.name = "block",
                        .usual = 512,
                        .least = 32,
                        .most = 1 << 24,
                        .is_whole = true,
                        .meaning = "elements that share a scale"}},
          .formula_bits =
              [](const Shape& shape, const Settings& settings, std::uint32_t world) {
                const auto elements = static_cast<double>(shape.elements);
                const Lanes lanes = Lanes::fit(levels_of(settings), world).value_or(Lanes{});
                return 32 * static_cast<double>(lanes.integers(shape.elements)) +
                       32 * std::ceil(elements / settings["block"]);
              },
          .variance = variance,
          .make = [](const Shape& shape, const Settings& settings) -> std::unique_ptr<Compressor> {
            return std::make_unique<SharedScale>(shape.elements, levels_of(settings),
                                                 static_cast<std::size_t>(settings["block"]));
          },
          .check = check};
}

}  // namespace infold::compress
