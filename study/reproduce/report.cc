// SPDX-License-Identifier: Apache-2.0
//
// Computes differences and names.
#include "study/reproduce/report.h"

#include <algorithm>

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

std::optional<double> difference(const Figure& figure) {
  if (figure.basis == Basis::none || figure.theirs == 0) return std::nullopt;
  return figure.ours / figure.theirs - 1;
}

bool Report::is_good() const {
  return wrong.empty() && std::all_of(targets.begin(), targets.end(),
                                      [](const Target& target) { return target.is_met; });
}

}  // namespace infold::reproduce
