// SPDX-License-Identifier: Apache-2.0
//
// Ten million starts of jobs, with some that live through all of them.
#include <set>
#include <utility>

#include <gtest/gtest.h>

#include "io/host/entropy.h"
#include "join/registry/job_registry_testing.h"

namespace infold::join::testing {
namespace {

// Keeps no record of its calls.
class CountingPlane final : public Plane {
 public:
  std::vector<SiteAddress> sites() const override { return {{":7700", 0}}; }
  std::uint32_t slots_total() const override { return 60'000; }
  std::uint32_t datagram_bytes_max() const override { return 8972; }
  Answer<void> start_job(const JobTerms& terms) override {
    ++started;
    EXPECT_TRUE(numbers.insert(terms.job).second) << terms.job << " is a living job's";
    EXPECT_TRUE(living.insert({terms.job, terms.epoch}).second);
    last = {terms.job, terms.epoch};
    return {};
  }
  std::optional<core::Abort> end_job(std::uint16_t, const core::Abort&) override { return {}; }
  void forget_job(std::uint16_t job) override {
    EXPECT_EQ(numbers.erase(job), 1U);
    if (job == last.first) living.erase(last);
  }

  std::uint64_t started = 0;
  std::set<std::uint16_t> numbers;
  std::set<std::pair<std::uint16_t, std::uint32_t>> living;
  std::pair<std::uint16_t, std::uint32_t> last;
};

TEST(RegistryNumbers, TenMillionJobsNeverShareOneWithTheLiving) {
  CountingPlane plane;
  RegistryOptions options;
  options.has_threads = false;
  options.on_event = [](const JoinEvent&) {};
  JobRegistry registry(&plane, options);
  const auto start = [&](const std::string& name) {
    const auto entry = registry.enter(hello_of(0, 1, name), std::make_shared<Ear>());
    registry.ready(entry, {});
    registry.work();
    return entry;
  };
  for (int stays = 0; stays < 100; ++stays) start("stays " + std::to_string(stays));
  while (plane.started < 10'000'000) {
    registry.leave(start("short"), Parting::in_order);
    registry.work();
    if (::testing::Test::HasFailure()) return;
  }
  EXPECT_EQ(plane.numbers.size(), 100U);
}

}  // namespace
}  // namespace infold::join::testing
