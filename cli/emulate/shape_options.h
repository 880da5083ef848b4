// SPDX-License-Identifier: Apache-2.0
//
// The options of infold emulate that say where sums are made: racks, hosts, switches, ranks, or a
// file with a whole plan.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include <tl/expected.hpp>

#include "cli/line/options.h"
#include "study/emulate/job_shape.h"

namespace infold::cli {

class ShapeOptions {
 public:
  void declare(Options& options);
  // Returns the shape of a job with `ranks` ranks, of which the first `real` are real. An error is
  // a message for the user.
  tl::expected<emulate::JobShape, std::string> shape(std::uint32_t ranks, std::uint32_t real) const;

 private:
  tl::expected<emulate::JobShape, std::string> from_plan(std::uint32_t ranks,
                                                         std::uint32_t real) const;

  std::optional<std::uint32_t> racks_;
  std::optional<std::uint32_t> hosts_;
  std::optional<std::uint32_t> switches_;
  std::string sites_ = "switches";
  std::optional<std::uint16_t> switch_weight_;
  std::string plan_;
};

// Describes the shape in one line. The text is empty if the shape is a single switch.
std::string shape_text(const emulate::JobShape& shape, std::uint32_t real);

}  // namespace infold::cli
