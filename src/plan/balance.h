// SPDX-License-Identifier: Apache-2.0
//
// Computes the share of a tensor that each site sums, so that the busiest link is done soonest.
// docs/plan.md derives it; BytePS's formula is the case of equal links. Pure arithmetic on seconds.
//
// A link that belongs to a site is busy for fixed_s + share * per_share_s:
//
//   dedicated host     fixed 0            per share  W passages through its link
//   on a worker        fixed one passage   per share  W - 2 passages through its link
//   switch in path     fixed 0            per share  one passage through its slowest port
#pragma once

#include <span>
#include <vector>

namespace infold::plan {

struct SiteLink {
  double fixed_s = 0;
  double per_share_s = 0;  // 0: the share does not make the link busier
  // If the links leave a choice, such a site takes only the share that dedicated sites cannot take:
  // a worker's processors have other work.
  bool on_worker = false;
};

struct Balance {
  double time_s = 0;           // of the busiest link
  std::vector<double> shares;  // in the order of the sites; the sum is 1
};

// Minimises the busiest link's time. Some link needs `floor_s` wherever sums are made: the slowest
// worker's, for its own passage. Requires: at least one site; no negative number.
Balance balance(std::span<const SiteLink> sites, double floor_s);

// The busiest link's time under any shares.
double busiest_s(std::span<const SiteLink> sites, std::span<const double> shares, double floor_s);

}  // namespace infold::plan
