// SPDX-License-Identifier: Apache-2.0
//
// The memory `dgc` (Deep Gradient Compression, 2018): momentum is applied before a gradient is
// added to the residual, and both forget the elements that were sent.
//
//   u = momentum * u + g;  v = v + u;  sent(v);  u = v = 0 where an element was sent
//
// It is meant for methods that send whole elements. The optimizer must not have a momentum of its
// own.
#include <cmath>

#include "compress/memories/kinds.h"

namespace infold::compress {
namespace {

class Dgc final : public Memory {
 public:
  Dgc(std::size_t elements, float momentum)
      : momentum_(momentum),
        velocity_(elements),
        kept_(elements),
        next_velocity_(elements),
        next_(elements),
        sent_(elements) {}

  std::span<const float> take_in(std::span<const float> gradient) override {
    for (std::size_t i = 0; i < next_.size(); ++i) {
      next_velocity_[i] = momentum_ * velocity_[i] + gradient[i];
      next_[i] = kept_[i] + next_velocity_[i];
    }
    return next_;
  }
  void see(const Compressor& compressor) override { compressor.write_sent(sent_); }
  void commit() override {
    for (std::size_t i = 0; i < next_.size(); ++i) {
      const bool is_kept = sent_[i] == 0 && std::isfinite(next_[i]);
      velocity_[i] = is_kept ? next_velocity_[i] : 0;
      kept_[i] = is_kept ? next_[i] : 0;
    }
  }
  std::vector<Kept> kept() override { return {{"velocity", &velocity_}, {"residual", &kept_}}; }

 private:
  float momentum_;
  std::vector<float> velocity_;
  std::vector<float> kept_;
  std::vector<float> next_velocity_;
  std::vector<float> next_;
  std::vector<float> sent_;
};

}  // namespace

MemoryKind dgc_memory() {
  return {.name = "dgc",
          .summary = "momentum before what is not sent; both forget what was sent",
          .settings = {{.name = "momentum",
                        .usual = 0.9,
                        .least = 0,
                        .most = 0.9999,
                        .meaning = "of the optimizer, which must have none of its own"}},
          .make = [](std::size_t elements, const Settings& settings) -> std::unique_ptr<Memory> {
            return std::make_unique<Dgc>(elements, static_cast<float>(settings["momentum"]));
          },
          .carries_errors = [](const Settings&) { return 1.0; }};
}

}  // namespace infold::compress
