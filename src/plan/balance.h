// SPDX-License-Identifier: Apache-2.0
//
// Which share of a tensor each site sums, so that the busiest link is done soonest. docs/plan.md
// derives it; BytePS's formula is the case of equal links. Pure arithmetic on seconds.
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
  double per_share_s = 0;  // 0: takes any share without being busier for it
  // Where links leave a choice, such a site takes only what the others cannot: the processors of
  // a worker have other work.
  bool on_worker = false;
};

struct Balance {
  double time_s = 0;           // of the busiest link
  std::vector<double> shares;  // as sites; they sum to 1
};

// Minimises the busiest link's time. `floor_s` is what some link needs wherever sums are made: a
// passage through the slowest worker's. Requires: at least one site; nothing negative.
Balance balance(std::span<const SiteLink> sites, double floor_s);

// The busiest link's time under any shares.
double busiest_s(std::span<const SiteLink> sites, std::span<const double> shares, double floor_s);

}  // namespace infold::plan
