// SPDX-License-Identifier: Apache-2.0
//
// The compressor of `signsgd` and `signum`, which differ only in their memory. Each rank votes on
// the sign of each element, and the result is +1 or -1 by the majority. A tie gives +1, and zeros
// count as +1, because sgn(0) = +1. NaNs count as +1 as well, so the result does not show them.
#pragma once

#include <limits>
#include <memory>

#include "compress/votes/sign_votes.h"

namespace infold::compress {

class SignSgd final : public Compressor {
 public:
  explicit SignSgd(bool abstains) : votes_(abstains) {}

  Leg begin(std::span<const float> tensor, const Turn& turn) override {
    votes_.cast(tensor, turn);
    return {Travel::lanes, std::as_bytes(votes_.lanes())};
  }
  std::optional<Leg> next(const Answer& answer) override {
    sums_ = answer.integers();
    return std::nullopt;
  }
  void write_mean(std::span<float> mean) override {
    votes_.write_balances(sums_, kUnits, mean);
    for (float& value : mean) value = value < 0 ? -1.0F : 1.0F;
  }
  void write_sent(std::span<float> sent) const override { votes_.write_own(kUnits, sent); }

 private:
  static constexpr float kOne = 1;
  static constexpr SignVotes::Units kUnits = {.bucket = std::numeric_limits<std::size_t>::max() / 2,
                                              .numbers = {&kOne, 1}};

  SignVotes votes_;
  std::span<const std::uint32_t> sums_;
};

// Makes the record of either method.
inline Method sign_method(std::string name, std::string summary) {
  return {.name = std::move(name),
          .summary = std::move(summary),
          .bias = Bias::direction,
          .settings = {abstain_setting()},
          .formula_bits = vote_bits,
          .make = [](const Shape&, const Settings& settings) -> std::unique_ptr<Compressor> {
            return std::make_unique<SignSgd>(settings["abstain"] == 1);
          }};
}

}  // namespace infold::compress
