// SPDX-License-Identifier: Apache-2.0
//
// Compares the solver with BytePS's closed form, with cases worked out by hand, and with random
// shares.
#include "plan/balance.h"

#include <algorithm>
#include <numeric>

#include <gtest/gtest.h>

#include "base/prng.h"

namespace infold::plan {
namespace {

// One passage through a link takes 1 / rate seconds.
struct Cluster {
  std::vector<double> worker_rates;
  std::vector<double> host_rates;

  std::vector<SiteLink> sites(bool workers_too = true) const {
    const auto n = static_cast<double>(worker_rates.size());
    std::vector<SiteLink> sites;
    for (const double rate : host_rates) sites.push_back({0, n / rate, false});
    for (const double rate : worker_rates) {
      if (workers_too) sites.push_back({1 / rate, (n - 2) / rate, true});
    }
    return sites;
  }
  double floor_s() const { return 1 / *std::min_element(worker_rates.begin(), worker_rates.end()); }
  Balance solve() const { return balance(sites(), floor_s()); }
};

Cluster equal_links(std::size_t n, std::size_t k) {
  return {std::vector<double>(n, 1.0), std::vector<double>(k, 1.0)};
}

double sum(const std::vector<double>& shares) {
  return std::accumulate(shares.begin(), shares.end(), 0.0);
}

TEST(Balance, IsTheFormulaOfBytePS) {
  for (std::size_t n = 2; n <= 33; ++n) {
    for (std::size_t k = 0; k <= n; ++k) {
      const auto workers = static_cast<double>(n);
      const auto hosts = static_cast<double>(k);
      const double d = workers * workers + hosts * workers - 2 * hosts;
      const Balance solved = equal_links(n, k).solve();
      EXPECT_NEAR(solved.time_s, 2 * workers * (workers - 1) / d, 1e-12) << n << " " << k;
      for (std::size_t i = 0; i < n + k; ++i) {
        const double share = (i < k ? 2 * (workers - 1) : workers - hosts) / d;
        EXPECT_NEAR(solved.shares[i], share, 1e-12) << n << " " << k << " site " << i;
      }
    }
  }
}

// The closed form also holds for hosts with any rates. docs/plan.md shows that only the sum of the
// rates matters for the time.
TEST(Balance, IsTheClosedFormForHostsOfAnyRate) {
  for (std::uint64_t seed = 1; seed <= 500; ++seed) {
    base::Prng prng(seed);
    const auto count = 3 + prng.below(30);
    const auto workers = static_cast<double>(count);
    Cluster cluster{std::vector<double>(count, 10.0), {}};
    double hosts = 0;  // sum of the hosts' rates, at most what the workers can use
    for (;;) {
      const double rate = 1 + 20 * prng.uniform();
      if (hosts + rate > 10 * workers) break;
      cluster.host_rates.push_back(rate);
      hosts += rate;
    }
    const double d = workers * workers * 10 + (workers - 2) * hosts;
    const Balance solved = cluster.solve();
    EXPECT_NEAR(solved.time_s, 2 * workers * (workers - 1) / d, 1e-12) << "seed " << seed;
    for (std::size_t i = 0; i < solved.shares.size(); ++i) {
      const double share = i < cluster.host_rates.size()
                               ? 2 * (workers - 1) * cluster.host_rates[i] / d
                               : (workers * 10 - hosts) / d;
      EXPECT_NEAR(solved.shares[i], share, 1e-12) << "seed " << seed << " site " << i;
    }
  }
}

TEST(Balance, MoreHostsThanWorkersGainNothing) {
  const Balance solved = equal_links(4, 6).solve();
  EXPECT_DOUBLE_EQ(solved.time_s, 1);
  EXPECT_DOUBLE_EQ(solved.shares[0], 1.0 / 6);
  EXPECT_DOUBLE_EQ(solved.shares[6], 0);
}

TEST(Balance, OneHostAloneCarriesEveryPassage) {
  const Cluster cluster = equal_links(8, 1);
  EXPECT_DOUBLE_EQ(balance(cluster.sites(false), cluster.floor_s()).time_s, 8);
}

// There are 8 workers of rate 10 and one host of rate 40, which alone would need 8/40 = 0.2 s. In T
// seconds, the host takes 5 T of the tensor and each worker takes (10 T - 1) / 6. Solving 5 T + 8
// (10 T - 1) / 6 = 1 gives T = 14/110.
TEST(Balance, HostWithWorkersByHand) {
  const Balance solved = Cluster{std::vector<double>(8, 10.0), {40}}.solve();
  EXPECT_NEAR(solved.time_s, 14.0 / 110, 1e-12);
  EXPECT_NEAR(solved.shares[0], 7.0 / 11, 1e-12);
  EXPECT_NEAR(solved.shares[1], 0.5 / 11, 1e-12);
}

// Three workers have rate 1 and one has rate 10. The slow workers need 1 s for their own passages.
// In that time, the fast worker could take (10 - 1) / 2 of the tensor, so it takes all of it.
TEST(Balance, FastWorkerTakesAll) {
  const Balance solved = Cluster{{1, 1, 1, 10}, {}}.solve();
  EXPECT_DOUBLE_EQ(solved.time_s, 1);
  EXPECT_DOUBLE_EQ(solved.shares[3], 1);
  EXPECT_DOUBLE_EQ(solved.shares[0], 0);
}

// With rates 1, 1 and 2, the fast worker is busy for 0.5 + s/2, and the others for 1 + s. At T = 1,
// the fast worker can take everything. T cannot be less, because the slow workers' own passages
// take 1.
TEST(Balance, CornerWhereTheSlowWorkersBegin) {
  const Balance solved = Cluster{{1, 1, 2}, {}}.solve();
  EXPECT_DOUBLE_EQ(solved.time_s, 1);
  EXPECT_DOUBLE_EQ(solved.shares[2], 1);
}

// With two workers, the time does not depend on the shares, because each sends contributions to
// what the other sums and results of what it sums itself. The solver then splits evenly.
TEST(Balance, TwoWorkersShareEvenly) {
  const Balance solved = equal_links(2, 0).solve();
  EXPECT_DOUBLE_EQ(solved.time_s, 1);
  EXPECT_DOUBLE_EQ(solved.shares[0], 0.5);
  const Balance helped = equal_links(2, 1).solve();
  EXPECT_DOUBLE_EQ(helped.shares[0], 0.5);
  EXPECT_DOUBLE_EQ(helped.shares[1], 0.25);
}

class Draws {
 public:
  explicit Draws(std::uint64_t seed) : prng_(seed) {}

  Cluster cluster() {
    Cluster cluster;
    for (std::uint64_t i = 2 + prng_.below(15); i > 0; --i) cluster.worker_rates.push_back(rate());
    for (std::uint64_t i = prng_.below(8); i > 0; --i) cluster.host_rates.push_back(rate());
    return cluster;
  }
  double rate() {
    constexpr double kRates[] = {1, 2.5, 10, 25, 40, 100};
    return kRates[prng_.below(std::size(kRates))] * (prng_.below(2) == 0 ? 1 : prng_.uniform());
  }
  double uniform() { return prng_.uniform(); }
  std::size_t below(std::size_t limit) { return prng_.below(limit); }

 private:
  base::Prng prng_;
};

TEST(BalanceProperty, SharesSumToOneAndReachTheTime) {
  for (std::uint64_t seed = 1; seed <= 2000; ++seed) {
    const Cluster cluster = Draws(seed).cluster();
    const Balance solved = cluster.solve();
    EXPECT_NEAR(sum(solved.shares), 1, 1e-9) << "seed " << seed;
    EXPECT_GE(*std::min_element(solved.shares.begin(), solved.shares.end()), 0) << "seed " << seed;
    EXPECT_NEAR(busiest_s(cluster.sites(), solved.shares, cluster.floor_s()) / solved.time_s, 1,
                1e-9)
        << "seed " << seed;
  }
}

TEST(BalanceProperty, NoOtherSharesAreFaster) {
  for (std::uint64_t seed = 1; seed <= 500; ++seed) {
    Draws draws(seed);
    const Cluster cluster = draws.cluster();
    const Balance solved = cluster.solve();
    for (int attempt = 0; attempt < 40; ++attempt) {
      std::vector<double> other = solved.shares;
      if (attempt % 2 == 0) {  // moves a part of one site's share to another
        const std::size_t source = draws.below(other.size());
        const double moved = other[source] * draws.uniform();
        other[source] -= moved;
        other[draws.below(other.size())] += moved;
      } else {  // or draws new shares
        for (double& share : other) share = draws.uniform();
        const double total = sum(other);
        for (double& share : other) share /= total;
      }
      EXPECT_GE(busiest_s(cluster.sites(), other, cluster.floor_s()), solved.time_s * (1 - 1e-9))
          << "seed " << seed;
    }
  }
}

TEST(BalanceProperty, MoreSitesOrFasterLinksAreNeverSlower) {
  for (std::uint64_t seed = 1; seed <= 2000; ++seed) {
    Draws draws(seed);
    Cluster cluster = draws.cluster();
    const double before = cluster.solve().time_s;
    if (seed % 2 == 0) {
      cluster.host_rates.push_back(draws.rate());
    } else {
      cluster.worker_rates[draws.below(cluster.worker_rates.size())] *= 1 + draws.uniform();
    }
    EXPECT_LE(cluster.solve().time_s, before * (1 + 1e-9)) << "seed " << seed;
  }
}

}  // namespace
}  // namespace infold::plan
