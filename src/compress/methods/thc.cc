// SPDX-License-Identifier: Apache-2.0
//
// The method `thc` (Li 2024, in its uniform form): a rotation spreads each block's large elements
// over the whole block, so that a few bits for each element are enough. Aggregators add the codes.
//
// The length of a block is a power of two, and the last blocks are shorter powers. The rotation
// flips signs at random, in the same way on all ranks, and then applies a Hadamard transform. In
// the first leg, ranks agree on the largest root mean square of each block. In the second leg, each
// rotated element is an integer in steps of `clip` times that, rounded up or down at random.
// Elements beyond `clip` are cut off, and a residual keeps what was cut. A block that has a NaN or
// an infinity at any rank becomes NaN at all ranks.
#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <numbers>
#include <utility>

#include "compress/agreed_scales.h"
#include "compress/counter_random.h"
#include "compress/lanes.h"
#include "compress/magnitudes.h"
#include "compress/methods/methods.h"

namespace infold::compress {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
// The uses of the random numbers.
constexpr std::uint64_t kRounding = 0;
constexpr std::uint64_t kSigns = 1;

struct Options {
  std::size_t elements = 0;
  std::size_t block = 0;
  std::uint32_t levels = 0;
  double clip = 0;
};

struct Piece {
  std::size_t first = 0;
  std::size_t size = 0;
};

std::vector<Piece> cut(std::size_t elements, std::size_t block) {
  std::vector<Piece> pieces;
  for (std::size_t first = 0; first < elements;) {
    const std::size_t size = std::min(block, std::bit_floor(elements - first));
    pieces.push_back({first, size});
    first += size;
  }
  return pieces;
}

// Returns infinity if any element is not finite.
float root_mean_square(std::span<const float> values) {
  if (std::isinf(largest_magnitude(values))) return kInfinity;
  return static_cast<float>(
      std::sqrt(sum_magnitudes(values).squares / static_cast<double>(values.size())));
}

class Thc final : public AgreedScalesCompressor {
 public:
  explicit Thc(const Options& options) : Thc(options, cut(options.elements, options.block)) {}

  void write_mean(std::span<float> mean) override { decode(sums(), turn().world, mean); }
  void write_sent(std::span<float> sent) const override { decode(codes_, 1, sent); }

 private:
  Thc(const Options& options, std::vector<Piece> pieces)
      : AgreedScalesCompressor(Travel::maxima, pieces.size()),
        options_(options),
        pieces_(std::move(pieces)),
        own_(pieces_.size()),
        rotated_(options.elements) {}

  void measure(std::span<float> scales) override {
    for (std::size_t i = 0; i < pieces_.size(); ++i) {
      own_[i] = root_mean_square(tensor().subspan(pieces_[i].first, pieces_[i].size));
      rotate(pieces_[i], own_[i]);
    }
    std::copy(own_.begin(), own_.end(), scales.begin());
  }

  static bool is_usual(float scale) { return scale > 0 && scale < kInfinity; }
  double half() const { return options_.levels / 2.0; }
  // Flips signs at random. It is its own inverse.
  void flip(std::span<float> values, std::size_t first) const {
    const std::uint64_t key = CounterRandom::shared(turn(), kSigns).key();
    numeric::code_loops().flip(values.data(), values.size(), {.key = key, .first = first});
  }
  static void transform(std::span<float> values) {
    numeric::code_loops().transform(values.data(), values.size());
  }

  // Divides by the root mean square first, so that sums do not overflow.
  void rotate(const Piece& piece, float scale) {
    if (!is_usual(scale)) return;
    const auto values = tensor().subspan(piece.first, piece.size);
    const auto rotated = std::span(rotated_).subspan(piece.first, piece.size);
    std::transform(values.begin(), values.end(), rotated.begin(),
                   [scale](float value) { return value / scale; });
    flip(rotated, piece.first);
    transform(rotated);
  }

  std::span<const std::uint32_t> encode() override {
    lanes_ = Lanes::fit(options_.levels, turn().world).value();
    const std::uint64_t key = CounterRandom::own(turn(), kRounding).key();
    pack_lanes(lanes_, rotated_.size(), codes_, [&](std::size_t begin, auto codes) {
      for_each_part(begin, codes.size(), [&](std::size_t number, auto first, auto size) {
        std::uint32_t* const at = codes.data() + (first - begin);
        if (!is_usual(scales()[number])) {
          std::fill_n(at, size, 0U);
          return;
        }
        // A block of zeros was not rotated, but its factor is 0.
        const double part = double{own_[number]} / double{scales()[number]} / options_.clip;
        numeric::code_loops().quantise(rotated_.data() + first, size,
                                       {.factor = static_cast<float>(part * half()),
                                        .zero = static_cast<float>(half()),
                                        .most = static_cast<float>(options_.levels)},
                                       {.key = key, .first = first}, at);
      });
    });
    return codes_;
  }

  void decode(std::span<const std::uint32_t> sums, std::uint32_t summed,
              std::span<float> out) const {
    const double zero = half() * summed;
    unpack_lanes(lanes_, sums, out.size(), [&](std::size_t begin, auto codes) {
      numeric::code_loops().restore(codes.data(), codes.size(), zero, 1 / zero, out.data() + begin);
    });
    for (std::size_t number = 0; number < pieces_.size(); ++number) {
      const auto values = out.subspan(pieces_[number].first, pieces_[number].size);
      const float scale = scales()[number];
      if (!is_usual(scale)) {
        std::fill(values.begin(), values.end(),
                  scale == 0 ? 0.0F : std::numeric_limits<float>::quiet_NaN());
        continue;
      }
      transform(values);
      const double unit = double{scale} * options_.clip;
      for (float& value : values) value = static_cast<float>(double{value} * unit);
      flip(values, pieces_[number].first);
    }
  }

  // Calls use(number, first, size) for each part of these elements that lies in one piece.
  template <typename Use>
  void for_each_part(std::size_t first, std::size_t size, Use use) const {
    const std::size_t end = first + size;
    auto piece =
        std::upper_bound(pieces_.begin(), pieces_.end(), first,
                         [](std::size_t at, const Piece& each) { return at < each.first; });
    for (--piece; first < end; ++piece) {
      const std::size_t part = std::min(end, piece->first + piece->size) - first;
      use(static_cast<std::size_t>(piece - pieces_.begin()), first, part);
      first += part;
    }
  }

  const Options options_;
  const std::vector<Piece> pieces_;
  std::vector<float> own_;  // this rank's scales
  std::vector<float> rotated_;
  Lanes lanes_;
  std::vector<std::uint32_t> codes_;
};

Options options_of(const Shape& shape, const Settings& settings) {
  return {.elements = shape.elements,
          .block = std::bit_floor(static_cast<std::size_t>(settings["block"])),
          .levels = (std::uint32_t{1} << static_cast<std::uint32_t>(settings["bits"])) - 1,
          .clip = settings["clip"]};
}

std::optional<Error> check(const Shape& shape, const Settings& settings, std::uint32_t world) {
  const auto block = static_cast<std::size_t>(settings["block"]);
  if (!std::has_single_bit(block)) {
    return Error{Code::invalid_argument, "thc: block must be a power of two", -1, ""};
  }
  if (Lanes::fit(options_of(shape, settings).levels, world)) return std::nullopt;
  return Error{Code::unsupported, "thc: 32 bits do not hold the sum of so many ranks' codes", -1,
               ""};
}

// A rotated element is close to normal, with the block's root mean square as its deviation.
// Rounding at random between two codes adds at most a quarter of their distance squared, and
// cutting adds what lies beyond `clip`.
double error_share(const Settings& settings) {
  const double clip = settings["clip"];
  const double levels = std::exp2(settings["bits"]) - 1;
  const double distance = 2 * clip / levels;
  const double density = std::exp(-clip * clip / 2) / std::sqrt(2 * std::numbers::pi);
  const double beyond = std::erfc(clip / std::numbers::sqrt2);  // on both sides
  const double cut = (1 + clip * clip) * beyond - 2 * clip * density;
  return distance * distance / 4 + cut;
}

double formula_bits(const Shape& shape, const Settings& settings, std::uint32_t world) {
  const Options options = options_of(shape, settings);
  const Lanes lanes = Lanes::fit(options.levels, world).value_or(Lanes{});
  const auto pieces = static_cast<double>(cut(options.elements, options.block).size());
  return 32 * static_cast<double>(lanes.integers(options.elements)) + 32 * pieces;
}

}  // namespace

Method thc_method() {
  return {.name = "thc",
          .summary = "a few bits of each element of rotated blocks, added by aggregators",
          .bias = Bias::contractive,
          .settings = {{.name = "bits",
                        .usual = 4,
                        .least = 2,
                        .most = 8,
                        .is_whole = true,
                        .meaning = "bits of an element's code"},
                       {.name = "block",
                        .usual = 8192,
                        .least = 32,
                        .most = 1 << 20,
                        .is_whole = true,
                        .meaning = "elements that are rotated together; a power of two"},
                       {.name = "clip",
                        .usual = 2.5,
                        .least = 1,
                        .most = 16,
                        .meaning = "the largest code, in root mean squares of a block"}},
          .formula_bits = formula_bits,
          .error_share = error_share,
          .make = [](const Shape& shape, const Settings& settings) -> std::unique_ptr<Compressor> {
            return std::make_unique<Thc>(options_of(shape, settings));
          },
          .check = check};
}

}  // namespace infold::compress
