// SPDX-License-Identifier: Apache-2.0
//
// Only the loop's thread touches the site, so other threads read and change it by means of
// commands.
#include "site/switch_shard.h"

#include <utility>

namespace infold::site {

SwitchShard::SwitchShard(io::UdpSocket socket)
    : site_(std::make_unique<AggregationSite>(std::move(socket))),
      address_(site_->address()),
      uses_trains_(site_->uses_trains()),
      loop_("infold-shard", *site_) {}

SwitchShard::~SwitchShard() {
  if (const std::unique_ptr<AggregationSite> site = take_site()) {
    site->end_all_jobs({core::AbortReason::stopped, 0, 0, {}, {}});
  }
}

std::unique_ptr<AggregationSite> SwitchShard::take_site() {
  loop_.stop();
  return std::move(site_);
}

bool SwitchShard::add_job(const core::AggregatorOptions& options, std::uint16_t small_slots,
                          const Neighbours& neighbours) {
  auto job = std::make_unique<AggregationSite::Job>(options, small_slots, neighbours);
  bool is_free = false;
  loop_.run([this, &job, &is_free, number = options.job] {
    is_free = !site_->has_job(number);
    if (is_free) site_->swap_job(number, job);
  });
  return is_free;
}

void SwitchShard::end_job(std::uint16_t job, const core::Abort& abort) {
  loop_.run([this, job, &abort] { site_->end_job(job, abort); });
}

std::optional<core::Abort> SwitchShard::end_of(std::uint16_t job) {
  std::optional<core::Abort> end;
  loop_.run([this, job, &end] { end = site_->end_of(job); });
  return end;
}

void SwitchShard::remove_job(std::uint16_t job) {
  std::unique_ptr<AggregationSite::Job> removed;
  loop_.run([this, job, &removed] { site_->swap_job(job, removed); });
}

SiteStatistics SwitchShard::statistics() {
  SiteStatistics statistics;
  loop_.run([this, &statistics] { statistics = site_->statistics(); });
  return statistics;
}

}  // namespace infold::site
