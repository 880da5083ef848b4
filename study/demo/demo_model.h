// SPDX-License-Identifier: Apache-2.0
//
// The demo's task and model. The task is to read noisy drawings of the ten digits, which are made
// from a seed. The model is a network with one hidden layer. Its loops are plain on purpose,
// because the demo is about the exchange between workers. Use each object on one thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

namespace infold::demo {

inline constexpr std::size_t kImageSide = 20;
inline constexpr std::size_t kPixels = kImageSide * kImageSide;
inline constexpr std::size_t kHidden = 256;
inline constexpr std::size_t kDigits = 10;

struct DigitSet {
  std::vector<float> pixels;  // kPixels per image
  std::vector<std::uint8_t> labels;

  std::size_t size() const { return labels.size(); }
  std::span<const float> image(std::size_t index) const {
    return std::span(pixels).subspan(index * kPixels, kPixels);
  }
};

// Draws the images with these indices from the seed's set. Every caller gets the same images.
DigitSet draw_digits(std::uint64_t seed, std::span<const std::size_t> indices);

class DigitModel {
 public:
  // The layers, in the order in which a backward pass finishes their gradients.
  enum class Layer { output, hidden };

  explicit DigitModel(std::uint64_t seed);

  // Adds up loss and gradients over the images. Calls `finished` with each layer's gradient as soon
  // as it is complete.
  using Finished = std::function<void(Layer layer, std::span<float> gradient)>;
  double accumulate(const DigitSet& set, const Finished& finished);
  // Makes one step of gradient descent with momentum along gradients() / batch_size.
  void step(std::size_t batch_size, float learning_rate);

  double accuracy(const DigitSet& set);
  std::span<const float> parameters() const { return parameters_; }
  static std::size_t parameter_count();

 private:
  struct Activations {
    std::vector<float> hidden;
    std::vector<float> output;
  };

  void forward(std::span<const float> image);

  std::vector<float> parameters_;  // hidden weights and biases, then output weights and biases
  std::vector<float> gradients_;
  std::vector<float> velocity_;
  Activations activations_;
  std::vector<float> hidden_errors_;  // for every image of the batch
};

}  // namespace infold::demo
