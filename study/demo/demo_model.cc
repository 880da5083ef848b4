// SPDX-License-Identifier: Apache-2.0
//
// Digits consist of the seven segments of a pocket calculator's display. Drawing moves every corner
// at random and paints the segments with a soft brush, under noise. Inner loops run along rows, so
// that compilers vectorise them.

#include "study/demo/demo_model.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "base/prng.h"

namespace infold::demo {
namespace {

constexpr std::size_t kHiddenCount = (kPixels + 1) * kHidden;
constexpr std::size_t kOutputCount = (kHidden + 1) * kDigits;

struct Point {
  float x;
  float y;
};

// Corners: 0 and 1 are at the top, 2 and 3 in the middle, 4 and 5 at the bottom. The left ones are
// even.
constexpr std::array<std::array<std::uint8_t, 2>, 7> kSegments = {
    {{0, 1}, {1, 3}, {3, 5}, {4, 5}, {2, 4}, {0, 2}, {2, 3}}};
// Bit s says whether segment s is lit.
constexpr std::array<std::uint8_t, kDigits> kLit = {0x3F, 0x06, 0x5B, 0x4F, 0x66,
                                                    0x6D, 0x7D, 0x07, 0x7F, 0x6F};

float uniform(base::Prng& prng, float low, float high) {
  return low + static_cast<float>(prng.uniform()) * (high - low);
}

float distance(Point p, Point a, Point b) {
  const Point along = {b.x - a.x, b.y - a.y};
  const float length2 = along.x * along.x + along.y * along.y + 1e-6F;
  const float t = std::clamp(((p.x - a.x) * along.x + (p.y - a.y) * along.y) / length2, 0.F, 1.F);
  return std::hypot(p.x - a.x - t * along.x, p.y - a.y - t * along.y);
}

void draw(base::Prng& prng, std::uint8_t digit, std::span<float> image) {
  const float slant = uniform(prng, -2.F, 2.F);
  const Point centre = {uniform(prng, 8.F, 12.F), uniform(prng, 9.F, 11.F)};
  const float half_width = uniform(prng, 2.5F, 4.5F);
  const float half_height = uniform(prng, 5.F, 7.5F);
  std::array<Point, 6> corners;
  for (std::size_t corner = 0; corner < corners.size(); ++corner) {
    const float row = static_cast<float>(corner / 2) - 1.F;
    const float side = corner % 2 == 0 ? -1.F : 1.F;
    corners[corner] = {centre.x + side * half_width - row * slant + uniform(prng, -1.F, 1.F),
                       centre.y + row * half_height + uniform(prng, -1.F, 1.F)};
  }
  const float brush = uniform(prng, 0.7F, 1.4F);
  const float ink = uniform(prng, 0.6F, 1.F);
  for (std::size_t i = 0; i < image.size(); ++i) {
    const Point pixel = {static_cast<float>(i % kImageSide), static_cast<float>(i / kImageSide)};
    float nearest = 100.F;
    for (std::size_t segment = 0; segment < kSegments.size(); ++segment) {
      if ((kLit[digit] >> segment & 1) == 0) continue;
      const auto [from, to] = kSegments[segment];
      nearest = std::min(nearest, distance(pixel, corners[from], corners[to]));
    }
    image[i] = ink * std::clamp(1.5F - nearest / brush, 0.F, 1.F) + uniform(prng, -0.3F, 0.3F);
  }
}

// Computes into += factor * row.
void add_scaled(std::span<float> into, float factor, std::span<const float> row) {
  for (std::size_t i = 0; i < into.size(); ++i) into[i] += factor * row[i];
}

}  // namespace

DigitSet draw_digits(std::uint64_t seed, std::span<const std::size_t> indices) {
  DigitSet set;
  set.pixels.resize(indices.size() * kPixels);
  set.labels.resize(indices.size());
  for (std::size_t i = 0; i < indices.size(); ++i) {
    base::Prng prng(base::mix64(seed) + indices[i]);
    set.labels[i] = static_cast<std::uint8_t>(prng.below(kDigits));
    draw(prng, set.labels[i], std::span(set.pixels).subspan(i * kPixels, kPixels));
  }
  return set;
}

std::size_t DigitModel::parameter_count() { return kHiddenCount + kOutputCount; }

DigitModel::DigitModel(std::uint64_t seed)
    : parameters_(parameter_count()),
      gradients_(parameter_count()),
      velocity_(parameter_count()),
      activations_{std::vector<float>(kHidden), std::vector<float>(kDigits)} {
  base::Prng prng(seed);
  const float hidden_scale = std::sqrt(6.F / static_cast<float>(kPixels));
  const float output_scale = std::sqrt(6.F / static_cast<float>(kHidden));
  for (std::size_t i = 0; i < kPixels * kHidden; ++i) {
    parameters_[i] = uniform(prng, -hidden_scale, hidden_scale);
  }
  for (std::size_t i = 0; i < kHidden * kDigits; ++i) {
    parameters_[kHiddenCount + i] = uniform(prng, -output_scale, output_scale);
  }
}

void DigitModel::forward(std::span<const float> image) {
  const std::span<const float> weights(parameters_);
  const auto hidden_bias = weights.subspan(kPixels * kHidden, kHidden);
  std::copy(hidden_bias.begin(), hidden_bias.end(), activations_.hidden.begin());
  for (std::size_t i = 0; i < kPixels; ++i) {
    add_scaled(activations_.hidden, image[i], weights.subspan(i * kHidden, kHidden));
  }
  for (float& value : activations_.hidden) value = std::max(value, 0.F);

  const auto output = weights.subspan(kHiddenCount);
  const auto output_bias = output.subspan(kHidden * kDigits, kDigits);
  std::copy(output_bias.begin(), output_bias.end(), activations_.output.begin());
  for (std::size_t i = 0; i < kHidden; ++i) {
    add_scaled(activations_.output, activations_.hidden[i], output.subspan(i * kDigits, kDigits));
  }
}

double DigitModel::accumulate(const DigitSet& set, const Finished& finished) {
  std::fill(gradients_.begin(), gradients_.end(), 0.F);
  hidden_errors_.assign(set.size() * kHidden, 0.F);
  const auto output_weights = std::span<const float>(parameters_).subspan(kHiddenCount);
  const auto output_gradient = std::span(gradients_).subspan(kHiddenCount);
  double loss = 0;
  for (std::size_t b = 0; b < set.size(); ++b) {
    forward(set.image(b));
    std::vector<float>& output = activations_.output;
    const float largest = *std::max_element(output.begin(), output.end());
    float sum = 0;
    for (float& value : output) sum += value = std::exp(value - largest);
    for (float& value : output) value /= sum;
    const std::size_t label = set.labels[b];
    loss -= std::log(std::max(static_cast<double>(output[label]), 1e-30));
    output[label] -= 1.F;  // `output` now holds the error

    const auto errors = std::span(hidden_errors_).subspan(b * kHidden, kHidden);
    for (std::size_t i = 0; i < kHidden; ++i) {
      const float activation = activations_.hidden[i];
      if (activation <= 0) continue;
      add_scaled(output_gradient.subspan(i * kDigits, kDigits), activation, output);
      for (std::size_t j = 0; j < kDigits; ++j) {
        errors[i] += output[j] * output_weights[i * kDigits + j];
      }
    }
    add_scaled(output_gradient.subspan(kHidden * kDigits, kDigits), 1.F, output);
  }
  finished(Layer::output, output_gradient);

  const auto hidden_gradient = std::span(gradients_).first(kHiddenCount);
  for (std::size_t b = 0; b < set.size(); ++b) {
    const auto image = set.image(b);
    const auto errors = std::span<const float>(hidden_errors_).subspan(b * kHidden, kHidden);
    for (std::size_t i = 0; i < kPixels; ++i) {
      add_scaled(hidden_gradient.subspan(i * kHidden, kHidden), image[i], errors);
    }
    add_scaled(hidden_gradient.subspan(kPixels * kHidden, kHidden), 1.F, errors);
  }
  finished(Layer::hidden, hidden_gradient);
  return loss;
}

void DigitModel::step(std::size_t batch_size, float learning_rate) {
  constexpr float kMomentum = 0.9F;
  const float scale = learning_rate / static_cast<float>(batch_size);
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    velocity_[i] = kMomentum * velocity_[i] + scale * gradients_[i];
    parameters_[i] -= velocity_[i];
  }
}

double DigitModel::accuracy(const DigitSet& set) {
  std::size_t right = 0;
  for (std::size_t i = 0; i < set.size(); ++i) {
    forward(set.image(i));
    const auto best = std::max_element(activations_.output.begin(), activations_.output.end());
    if (best - activations_.output.begin() == set.labels[i]) ++right;
  }
  return static_cast<double>(right) / static_cast<double>(set.size());
}

}  // namespace infold::demo
