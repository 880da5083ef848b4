// SPDX-License-Identifier: Apache-2.0
//
// The method `none`: all floats travel, and the result is their exact mean, rounded once.
#include <algorithm>

#include "compress/methods/methods.h"

namespace infold::compress {
namespace {

class None final : public Compressor {
 public:
  Leg begin(std::span<const float> tensor, const Turn&) override {
    tensor_ = tensor;
    return {Travel::floats, std::as_bytes(tensor)};
  }
  std::optional<Leg> next(const Answer& answer) override {
    mean_ = answer.floats();
    return std::nullopt;
  }
  void write_mean(std::span<float> mean) override {
    std::copy(mean_.begin(), mean_.end(), mean.begin());
  }
  void write_sent(std::span<float> sent) const override {
    std::copy(tensor_.begin(), tensor_.end(), sent.begin());
  }

 private:
  std::span<const float> tensor_;
  std::span<const float> mean_;
};

}  // namespace

Method none_method() {
  return {.name = "none",
          .summary = "all floats, and their exact mean",
          .bias = Bias::none,
          .formula_bits = [](const Shape& shape, const Settings&,
                             std::uint32_t) { return 32.0 * static_cast<double>(shape.elements); },
          .make = [](const Shape&, const Settings&) -> std::unique_ptr<Compressor> {
            return std::make_unique<None>();
          }};
}

}  // namespace infold::compress
