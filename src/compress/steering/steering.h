// SPDX-License-Identifier: Apache-2.0
//
// Turns what a user asks of steering into the rungs of a setting, with a compression choice for
// each, beginning with the fewest bytes. If that is impossible, it says why.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <infold/compression_steering.h>

#include "compress/choice.h"
#include "compress/steering/steerer.h"

namespace infold::compress {

class Steering {
 public:
  // With 16 rungs, neighbours differ by a factor of 1.36 if the limits differ by a factor of 100.
  static constexpr std::size_t kRungsMax = 16;

  static Result<Steering> make(const SteeringOptions& options, const CompressionRequest& request);

  // Makes the steerer of a list of parameters.
  Steerer make_steerer(std::span<const Shape> shapes, std::uint32_t world) const;
  // Returns why some rung cannot compress such a parameter, or nothing.
  std::optional<Error> check(const Shape& shape, std::uint32_t world) const;

  const CompressionChoice& choice(std::size_t rung) const { return choices_[rung]; }
  // The setting's value at a rung; 0 if no setting changes.
  double value(std::size_t rung) const { return values_[rung]; }
  // For example "ratio 0.001 to 0.1, may skip, tolerance 0.1". Equal texts mean equal decisions.
  std::string text() const;

 private:
  std::optional<Error> find_values(const CompressionRequest& request);
  std::optional<Error> check_skip(const CompressionChoice& choice) const;
  std::optional<Error> take_usual_limits(const Method& method, const Setting& setting,
                                         const CompressionRequest& request);
  double size(std::size_t rung, const Shape& shape, std::uint32_t world) const;
  double plain_size(const Shape& shape, std::uint32_t world) const;

  SteeringOptions options_;
  std::vector<double> values_ = {0};
  std::vector<CompressionChoice> choices_;
  std::size_t start_ = 0;
};

}  // namespace infold::compress
