// SPDX-License-Identifier: Apache-2.0
//
// The method `thc` (Li 2024, in its uniform form): a rotation spreads each block's large elements
// over the block, so that a few bits an element are enough. Aggregators add the codes.
//
// A block is a power of two of elements; the last ones are shorter powers. The rotation is a
// Hadamard transform after signs at random, which all ranks have alike. In a first leg ranks agree
// on the largest root mean square of each block. In the second leg each rotated element is an
// integer in steps of `clip` times that, rounded up or down at random. Elements beyond `clip` are
// cut, and a residual keeps what was cut. A block that has a NaN or an infinity at any rank becomes
// NaN at all ranks.
#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <utility>

#include "codec/compress/agreed_scales.h"
#include "codec/compress/counter_random.h"
#include "codec/compress/lanes.h"
#include "codec/methods/methods.h"

namespace infold::codec {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
// What the random numbers are for.
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

// The Hadamard transform of length one, its own inverse. Requires: a power of two of elements.
void transform(std::span<float> values) {
  for (std::size_t half = 1; half < values.size(); half *= 2) {
    for (std::size_t begin = 0; begin < values.size(); begin += 2 * half) {
      float* const low = values.data() + begin;
      float* const high = low + half;
      for (std::size_t i = 0; i < half; ++i) {
        const float sum = low[i] + high[i];
        high[i] = low[i] - high[i];
        low[i] = sum;
      }
    }
  }
  const auto factor = static_cast<float>(1 / std::sqrt(static_cast<double>(values.size())));
  for (float& value : values) value *= factor;
}

// Infinite if an element is not finite.
float root_mean_square(std::span<const float> values) {
  double squares = 0;
  bool is_finite = true;
  for (const float value : values) {
    is_finite = is_finite && std::abs(value) < kInfinity;
    squares += double{value} * double{value};
  }
  const auto root = static_cast<float>(std::sqrt(squares / static_cast<double>(values.size())));
  return is_finite ? root : kInfinity;
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
  float sign(std::size_t element) const {
    const CounterRandom signs = CounterRandom::shared(turn(), kSigns);
    return (signs.bits(element) & 1) != 0 ? -1.0F : 1.0F;
  }

  // In parts of the root mean square, so that sums do not overflow.
  void rotate(const Piece& piece, float scale) {
    if (!is_usual(scale)) return;
    for (std::size_t i = piece.first; i < piece.first + piece.size; ++i) {
      rotated_[i] = static_cast<float>(double{tensor()[i]} / double{scale}) * sign(i);
    }
    transform(std::span(rotated_).subspan(piece.first, piece.size));
  }

  std::span<const std::uint32_t> encode() override {
    lanes_ = Lanes::fit(options_.levels, turn().world).value();
    codes_.assign(lanes_.integers(rotated_.size()), 0);
    const CounterRandom random = CounterRandom::own(turn(), kRounding);
    const auto levels = static_cast<float>(options_.levels);
    for (std::size_t number = 0; number < pieces_.size(); ++number) {
      if (!is_usual(scales()[number])) continue;
      const double part = double{own_[number]} / double{scales()[number]} / options_.clip;
      const auto factor = static_cast<float>(part * half());
      const Piece& piece = pieces_[number];
      for (std::size_t i = piece.first; i < piece.first + piece.size; ++i) {
        // Of a block of zeros, nothing was rotated.
        const float place = factor > 0 ? rotated_[i] * factor + levels / 2 : levels / 2;
        const float code = std::clamp(std::floor(place + random.uniform(i)), 0.0F, levels);
        codes_[i / lanes_.count] |= static_cast<std::uint32_t>(code) << lanes_.shift(i);
      }
    }
    return codes_;
  }

  void decode(std::span<const std::uint32_t> sums, std::uint32_t summed,
              std::span<float> out) const {
    const double zero = half() * summed;
    for (std::size_t number = 0; number < pieces_.size(); ++number) {
      const Piece& piece = pieces_[number];
      const auto values = out.subspan(piece.first, piece.size);
      const float scale = scales()[number];
      if (!is_usual(scale)) {
        std::fill(values.begin(), values.end(),
                  scale == 0 ? 0.0F : std::numeric_limits<float>::quiet_NaN());
        continue;
      }
      for (std::size_t i = 0; i < values.size(); ++i) {
        const std::size_t element = piece.first + i;
        const double sum = lanes_.take(sums[element / lanes_.count], element);
        values[i] = static_cast<float>((sum - zero) / zero);
      }
      transform(values);
      const double unit = double{scale} * options_.clip;
      for (std::size_t i = 0; i < values.size(); ++i) {
        values[i] = static_cast<float>(double{values[i]} * unit) * sign(piece.first + i);
      }
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

double formula_bits(const Shape& shape, const Settings& settings, std::uint32_t world) {
  const Options options = options_of(shape, settings);
  const Lanes lanes = Lanes::fit(options.levels, world).value_or(Lanes{});
  const auto pieces = static_cast<double>(cut(options.elements, options.block).size());
  return static_cast<double>(options.elements) * 32 / lanes.count + 32 * pieces;
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
          .make = [](const Shape& shape, const Settings& settings) -> std::unique_ptr<Compressor> {
            return std::make_unique<Thc>(options_of(shape, settings));
          },
          .check = check};
}

}  // namespace infold::codec
