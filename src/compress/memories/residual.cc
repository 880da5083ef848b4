// SPDX-License-Identifier: Apache-2.0
//
// The memory `residual`: what was not sent is added to the next gradient.
//
//   x = decay * e + g, and then e = x - sent(x)
//
// With decay 1, everything that was sent plus the residual is the sum of all gradients. An element
// that is not finite is not remembered, because a NaN would otherwise stay for ever.
#include <cmath>

#include "compress/memories/kinds.h"

namespace infold::compress {
namespace {

class Residual final : public Memory {
 public:
  Residual(std::size_t elements, float decay)
      : decay_(decay), kept_(elements), input_(elements), next_(elements) {}

  std::span<const float> take_in(std::span<const float> gradient) override {
    for (std::size_t i = 0; i < input_.size(); ++i) input_[i] = decay_ * kept_[i] + gradient[i];
    return input_;
  }
  void see(const Compressor& compressor) override {
    compressor.write_sent(next_);
    for (std::size_t i = 0; i < next_.size(); ++i) {
      const float rest = input_[i] - next_[i];
      next_[i] = std::isfinite(rest) ? rest : 0;
    }
  }
  void commit() override { kept_.swap(next_); }
  std::vector<Kept> kept() override { return {{"residual", &kept_}}; }

 private:
  float decay_;
  std::vector<float> kept_;
  std::vector<float> input_;
  std::vector<float> next_;
};

}  // namespace

MemoryKind residual_memory() {
  return {.name = "residual",
          .summary = "what is not sent is added to the next gradient",
          .settings = {{.name = "decay",
                        .usual = 1,
                        .least = 0,
                        .most = 1,
                        .meaning = "what is left of the residual at the next step"}},
          .make = [](std::size_t elements, const Settings& settings) -> std::unique_ptr<Memory> {
            return std::make_unique<Residual>(elements, static_cast<float>(settings["decay"]));
          },
          .carries_errors = [](const Settings& settings) { return settings["decay"]; }};
}

}  // namespace infold::compress
