// SPDX-License-Identifier: Apache-2.0
//
// What a plan means, in sentences for a person who decides whether to install anything, and how
// its quantities are written. Says it just as plainly when infold does not help.
#pragma once

#include <string>
#include <vector>

#include "predict/placement.h"

namespace infold::predict {

// Differences up to this count as none: neither the model nor most networks are more precise.
inline constexpr double kSame = 0.05;

// Requires: `placements` as predict(question) gave them.
std::vector<std::string> advice(const Question& question, const std::vector<Placement>& placements);

// Three digits and a unit: "10 Gbit/s", "186 MB", "49.3 us". A rate of kUnlimited is "no limit".
std::string rate_text(double bits_per_second);
std::string bytes_text(double bytes);
std::string time_text(double seconds);

}  // namespace infold::predict
