// SPDX-License-Identifier: Apache-2.0
//
// Computes the share of a tensor that each site sums, so that the busiest link finishes soonest.
// docs/plan.md derives the solution; BytePS's formula is the special case of equal links. This is
// pure arithmetic on seconds.
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
  // Whether the site runs on a worker, whose processors have other work. If the links leave a
  // choice, it gets only the share that dedicated sites cannot take.
  bool on_worker = false;
};

struct Balance {
  double time_s = 0;           // how long the busiest link needs
  std::vector<double> shares;  // in the order of the sites; the sum is 1
};

// Minimises the busiest link's time. `floor_s` is the time that some link needs wherever the sums
// are made, such as the slowest worker's link for that worker's own passage. Requires: at least one
// site; no negative number.
Balance balance(std::span<const SiteLink> sites, double floor_s);

// Returns the busiest link's time for the given shares.
double busiest_s(std::span<const SiteLink> sites, std::span<const double> shares, double floor_s);

}  // namespace infold::plan
