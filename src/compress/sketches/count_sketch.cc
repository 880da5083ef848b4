// SPDX-License-Identifier: Apache-2.0
//
// The method `countsketch` (FetchSGD 2020): each rank sends a count sketch, and aggregators take
// the mean. The result has the estimates of the elements with the largest estimates, and zeros
// elsewhere.
//
// With feedback=1, the mean sketch is added to the next step's sketch, after the cells of elements
// in the result have become zero. Subtracting the result instead would lose nothing, but it
// diverges, because each step contains estimation errors to which the next step adds. All ranks
// keep the same sketch, so no other memory is needed. The hash must then stay the same, so it
// depends on the seed and the parameter only; with feedback=0, it also depends on the step.
//
// No bound on the error holds for all tensors, because a cell may have many elements, and an
// estimate may be larger than its element. The method is meant for tensors with few large elements.
// A tenth of the elements as cells can tell about one in two thousand elements with heavy tails
// from the rest. If more are kept, most of them are noise, and the mean is worse than zeros. An
// element that is not finite becomes NaN, and so may elements that share most of their cells with
// it.
#include <algorithm>
#include <cmath>

#include "compress/methods/methods.h"
#include "compress/sketches/sketch.h"

namespace infold::compress {
namespace {

class CountSketch final : public Compressor {
 public:
  struct Options {
    SketchShape shape;
    std::size_t elements = 0;
    std::size_t kept = 0;
    bool has_feedback = false;
  };
  explicit CountSketch(const Options& options)
      : options_(options), error_(options.has_feedback ? options.shape.cells() : 0) {}

  Leg begin(std::span<const float> tensor, const Turn& turn) override {
    turn_ = turn;
    if (options_.has_feedback) turn_.step = 0;
    sent_ = options_.shape.sketch(tensor, hash());
    return {Travel::floats, std::as_bytes(std::span(sent_))};
  }
  std::optional<Leg> next(const Answer& answer) override {
    mean_ = with_error(answer.floats());
    heavy_ = find_heavy(mean_);
    return std::nullopt;
  }
  void write_mean(std::span<float> mean) override { write(heavy_, mean); }
  void write_sent(std::span<float> sent) const override {
    write(find_heavy(with_error(sent_)), sent);
  }
  void commit() override {
    if (!options_.has_feedback) return;
    error_ = mean_;
    options_.shape.clear(heavy_, hash(), error_);
    for (float& cell : error_) cell = std::isfinite(cell) ? cell : 0;
  }
  std::vector<Kept> kept() override {
    if (!options_.has_feedback) return {};
    return {{"sketch", &error_}};
  }

 private:
  CounterRandom hash() const { return CounterRandom::shared(turn_, 0); }

  std::vector<float> with_error(std::span<const float> cells) const {
    std::vector<float> sum(cells.begin(), cells.end());
    for (std::size_t i = 0; i < error_.size(); ++i) {
      sum[i] = to_cell(double{cells[i]} + double{error_[i]});
    }
    return sum;
  }
  HeavyElements find_heavy(std::span<const float> cells) const {
    return options_.shape.find_heavy(cells, hash(), options_.elements, options_.kept);
  }
  static void write(const HeavyElements& heavy, std::span<float> out) {
    std::fill(out.begin(), out.end(), 0.0F);
    for (std::size_t i = 0; i < heavy.indices.size(); ++i) out[heavy.indices[i]] = heavy.values[i];
  }

  Options options_;
  Turn turn_;
  std::vector<float> sent_;
  std::vector<float> mean_;  // includes the error of earlier steps
  HeavyElements heavy_;
  std::vector<float> error_;  // empty without feedback
};

// Returns this part of the number of elements, but at least one unless the tensor is empty.
std::size_t part_of(const Shape& shape, double part) {
  const auto count = static_cast<std::size_t>(part * static_cast<double>(shape.elements));
  return std::min(shape.elements, std::max<std::size_t>(1, count));
}

CountSketch::Options options_of(const Shape& shape, const Settings& settings) {
  const auto rows = static_cast<std::size_t>(settings["rows"]);
  const std::size_t cells = part_of(shape, settings["ratio"]);
  return {.shape = SketchShape(rows, (cells + rows - 1) / rows),
          .elements = shape.elements,
          .kept = part_of(shape, settings["kept"]),
          .has_feedback = settings["feedback"] == 1};
}

}  // namespace

Method count_sketch_method() {
  return {.name = "countsketch",
          .summary = "a sketch that aggregators add; the largest elements are found in the mean",
          .bias = Bias::unknown,
          .settings = {{.name = "ratio",
                        .usual = 0.1,
                        .least = 1e-6,
                        .most = 1,
                        .meaning = "cells of the sketch, in parts of the elements"},
                       {.name = "rows",
                        .usual = 5,
                        .least = 1,
                        .most = SketchShape::kRowsMost,
                        .is_whole = true,
                        .meaning = "cells that each element is added to"},
                       {.name = "kept",
                        .usual = 0.0005,
                        .least = 1e-6,
                        .most = 1,
                        .meaning = "elements that are not zero after it, in parts of all"},
                       {.name = "feedback",
                        .usual = 1,
                        .least = 0,
                        .most = 1,
                        .is_whole = true,
                        .meaning = "1: what the result lacks is added to the next sketch"}},
          .formula_bits =
              [](const Shape& shape, const Settings& settings, std::uint32_t) {
                return 32 * static_cast<double>(options_of(shape, settings).shape.cells());
              },
          .make = [](const Shape& shape, const Settings& settings) -> std::unique_ptr<Compressor> {
            return std::make_unique<CountSketch>(options_of(shape, settings));
          }};
}

}  // namespace infold::compress
