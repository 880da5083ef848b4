// SPDX-License-Identifier: Apache-2.0
//
// From what a user asks of a control to the rungs of its setting: a choice each, from the fewest
// bytes on. Or the reason why there are none.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <infold/compression_control.h>

#include "codec/compress/choice.h"
#include "codec/control/controller.h"

namespace infold::codec {

class Steering {
 public:
  // So that neighbours differ by 1.36 where the limits differ by 100.
  static constexpr std::size_t kRungsMax = 16;

  static Result<Steering> make(const ControlOptions& options, const CompressionRequest& request);

  // Of a list of parameters.
  Controller make_controller(std::span<const Shape> shapes, std::uint32_t world) const;
  // Why a rung cannot compress such a parameter.
  std::optional<Error> check(const Shape& shape, std::uint32_t world) const;

  const CompressionChoice& choice(std::size_t rung) const { return choices_[rung]; }
  // Of the setting; 0 if none changes.
  double value(std::size_t rung) const { return values_[rung]; }
  // As in "ratio 0.001 to 0.1, may skip, tolerance 0.1". Equal texts mean equal decisions.
  std::string text() const;

 private:
  std::optional<Error> find_values(const CompressionRequest& request);
  std::optional<Error> check_skip(const CompressionChoice& choice) const;
  double size(std::size_t rung, const Shape& shape, std::uint32_t world) const;

  ControlOptions options_;
  std::vector<double> values_ = {0};
  std::vector<CompressionChoice> choices_;
  std::size_t start_ = 0;
};

}  // namespace infold::codec
