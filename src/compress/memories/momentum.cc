// SPDX-License-Identifier: Apache-2.0
//
// The memory `momentum` (Signum): the compressor gets a running mean of the gradients.
//
//   v = momentum * v + (1 - momentum) * g, and v = g at the first step
#include "compress/memories/kinds.h"

namespace infold::compress {
namespace {

class Momentum final : public Memory {
 public:
  Momentum(std::size_t elements, float momentum)
      : momentum_(momentum), kept_(elements), next_(elements), begun_(1) {}

  std::span<const float> take_in(std::span<const float> gradient) override {
    const float old = begun_[0] > 0 ? momentum_ : 0;
    for (std::size_t i = 0; i < next_.size(); ++i) {
      next_[i] = old * kept_[i] + (1 - old) * gradient[i];
    }
    return next_;
  }
  void see(const Compressor&) override {}
  void commit() override {
    kept_.swap(next_);
    begun_[0] = 1;
  }
  std::vector<Kept> kept() override { return {{"momentum", &kept_}, {"begun", &begun_}}; }

 private:
  float momentum_;
  std::vector<float> kept_;
  std::vector<float> next_;
  std::vector<float> begun_;  // 1 after the first step
};

}  // namespace

MemoryKind momentum_memory() {
  return {.name = "momentum",
          .summary = "the compressor gets a running mean of the gradients",
          .settings = {{.name = "momentum",
                        .usual = 0.9,
                        .least = 0,
                        .most = 0.9999,
                        .meaning = "the part of the mean that is old"}},
          .make = [](std::size_t elements, const Settings& settings) -> std::unique_ptr<Memory> {
            return std::make_unique<Momentum>(elements, static_cast<float>(settings["momentum"]));
          }};
}

}  // namespace infold::compress
