// SPDX-License-Identifier: Apache-2.0
//
// This is water-filling. In time T, a site can take (T - fixed) / per_share of the tensor. The
// answer is the smallest T at which all sites together can take 1. Their sum is piecewise linear in
// T with a corner at each site's fixed time, so visiting the corners in order gives T exactly.
#include "plan/balance.h"

#include <algorithm>
#include <limits>
#include <numeric>

#include "base/check.h"

namespace infold::plan {
namespace {

double time_without_floor(std::span<const SiteLink> sites) {
  std::vector<SiteLink> by_fixed(sites.begin(), sites.end());
  std::sort(by_fixed.begin(), by_fixed.end(),
            [](const SiteLink& a, const SiteLink& b) { return a.fixed_s < b.fixed_s; });
  double rate = 0;    // share per second that all sites so far can take together
  double behind = 0;  // share that these sites lose because they do not start at time 0
  double time = std::numeric_limits<double>::infinity();
  for (const SiteLink& site : by_fixed) {
    if (site.fixed_s >= time) break;
    if (site.per_share_s <= 0) return site.fixed_s;
    rate += 1 / site.per_share_s;
    behind += site.fixed_s / site.per_share_s;
    time = (1 + behind) / rate;
  }
  return time;
}

double capacity(const SiteLink& site, double time_s) {
  if (time_s < site.fixed_s) return 0;
  if (site.per_share_s <= 0) return 1;
  return std::min(1.0, (time_s - site.fixed_s) / site.per_share_s);
}

}  // namespace

Balance balance(std::span<const SiteLink> sites, double floor_s) {
  CHECK(!sites.empty());
  Balance result;
  result.time_s = std::max(floor_s, time_without_floor(sites));

  double dedicated = 0;
  double on_workers = 0;
  for (const SiteLink& site : sites) {
    (site.on_worker ? on_workers : dedicated) += capacity(site, result.time_s);
  }
  // Dedicated sites take shares first. Workers can take the rest, because all sites together can
  // take 1.
  const double by_dedicated = on_workers > 0 ? std::min(1.0, dedicated) : 1.0;
  for (const SiteLink& site : sites) {
    const double part = site.on_worker ? 1 - by_dedicated : by_dedicated;
    const double all = site.on_worker ? on_workers : dedicated;
    result.shares.push_back(part <= 0 ? 0 : part * capacity(site, result.time_s) / all);
  }
  return result;
}

double busiest_s(std::span<const SiteLink> sites, std::span<const double> shares, double floor_s) {
  CHECK_THAT(sites.size(), ==, shares.size());
  double busiest = floor_s;
  for (std::size_t i = 0; i < sites.size(); ++i) {
    busiest = std::max(busiest, sites[i].fixed_s + shares[i] * sites[i].per_share_s);
  }
  return busiest;
}

}  // namespace infold::plan
