// SPDX-License-Identifier: Apache-2.0
//
// Computes differences, and writes names and sizes.
#include "study/reproduce/report.h"

#include <algorithm>

#include <fmt/format.h>

namespace infold::reproduce {

const char* basis_name(Basis basis) {
  switch (basis) {
    case Basis::published: return "published";
    case Basis::formula: return "formula";
    case Basis::derived: return "derived";
    case Basis::none: return "none";
  }
  return "";
}

std::string size_text(std::uint64_t bytes) {
  constexpr std::uint64_t kMiB = 1 << 20;
  if (bytes > 0 && bytes % kMiB == 0) return fmt::format("{} MiB", bytes / kMiB);
  return fmt::format("{:.4g} MB", static_cast<double>(bytes) * 1e-6);
}

std::optional<double> difference(const Figure& figure) {
  if (figure.basis == Basis::none || figure.theirs == 0) return std::nullopt;
  return figure.ours / figure.theirs - 1;
}

bool Report::is_good() const {
  return wrong.empty() && std::all_of(targets.begin(), targets.end(),
                                      [](const Target& target) { return target.is_met; });
}

}  // namespace infold::reproduce
