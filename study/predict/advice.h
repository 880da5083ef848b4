// SPDX-License-Identifier: Apache-2.0
//
// Explains what a plan means, in sentences for a person who decides whether to install anything,
// and formats its quantities. It says just as plainly when infold does not help.
#pragma once

#include <string>
#include <vector>

#include "study/predict/placement.h"

namespace infold::predict {

// Smaller differences are treated as none, because neither the model nor most networks are more
// precise.
inline constexpr double kSame = 0.05;

// Requires: `placements` are the result of predict(question).
std::vector<std::string> advice(const Question& question, const std::vector<Placement>& placements);

// These return three digits and a unit: "10 Gbit/s", "186 MB", "49.3 us". A rate of kUnlimited is
// "no limit".
std::string rate_text(double bits_per_second);
std::string bytes_text(double bytes);
std::string time_text(double seconds);

}  // namespace infold::predict
