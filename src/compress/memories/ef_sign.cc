// SPDX-License-Identifier: Apache-2.0
//
// The memory `ef-sign` (EF-SignSGD, 2019): it keeps a residual of steps instead of gradients, so
// that a step that was too short at one learning rate is made up for at another.
//
//   x = e + rate * g;  e = x - sent(x);  the mean of gradients is mean(sent) / rate
#include <cmath>

#include "compress/memories/kinds.h"

namespace infold::compress {
namespace {

class EfSign final : public Memory {
 public:
  EfSign(std::size_t elements, double rate)
      : rate_(rate), kept_(elements), input_(elements), next_(elements) {}

  void set_rate(double rate) override { rate_ = rate; }
  std::span<const float> take_in(std::span<const float> gradient) override {
    const auto rate = static_cast<float>(rate_);
    for (std::size_t i = 0; i < input_.size(); ++i) input_[i] = kept_[i] + rate * gradient[i];
    return input_;
  }
  void see(const Compressor& compressor) override {
    compressor.write_sent(next_);
    for (std::size_t i = 0; i < next_.size(); ++i) {
      const float rest = input_[i] - next_[i];
      next_[i] = std::isfinite(rest) ? rest : 0;
    }
  }
  void finish(std::span<float> mean) const override {
    const auto rate = static_cast<float>(rate_);
    for (float& value : mean) value /= rate;
  }
  void commit() override { kept_.swap(next_); }
  std::vector<Kept> kept() override { return {{"residual", &kept_}}; }

 private:
  double rate_;
  std::vector<float> kept_;
  std::vector<float> input_;
  std::vector<float> next_;
};

}  // namespace

MemoryKind ef_sign_memory() {
  return {.name = "ef-sign",
          .summary = "a residual of steps instead of gradients, for changing learning rates",
          .settings = {{.name = "rate",
                        .usual = 0.1,
                        .least = 1e-12,
                        .most = 1e6,
                        .meaning = "the learning rate, until the program sets another"}},
          .make = [](std::size_t elements, const Settings& settings) -> std::unique_ptr<Memory> {
            return std::make_unique<EfSign>(elements, settings["rate"]);
          },
          .carries_errors = [](const Settings&) { return 1.0; }};
}

}  // namespace infold::compress
