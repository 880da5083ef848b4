// SPDX-License-Identifier: Apache-2.0
//
// Serves what has arrived, runs commands in between, and sleeps when there is nothing to read.
#include "site/switch_shard.h"

#include <future>
#include <utility>

#include "base/check.h"
#include "io/host/clock.h"
#include "site/driver_thread.h"

namespace infold::site {

SwitchShard::SwitchShard(io::UdpSocket socket)
    : site_(std::make_unique<AggregationSite>(std::move(socket))),
      address_(site_->address()),
      uses_trains_(site_->uses_trains()) {
  thread_ = start_driver_thread("infold-shard", [this] { run(); });
}

SwitchShard::~SwitchShard() {
  if (const std::unique_ptr<AggregationSite> site = take_site()) {
    site->end_all_jobs({core::AbortReason::stopped, 0, 0, {}, {}});
  }
}

std::unique_ptr<AggregationSite> SwitchShard::take_site() {
  if (thread_.joinable()) {
    command([this] { stops_ = true; });
    thread_.join();
  }
  return std::move(site_);
}

bool SwitchShard::add_job(const core::AggregatorOptions& options, std::uint16_t small_slots,
                          const Neighbours& neighbours) {
  auto job = std::make_unique<AggregationSite::Job>(options, small_slots, neighbours);
  bool is_free = false;
  command([this, &job, &is_free, number = options.job] {
    is_free = !site_->has_job(number);
    if (is_free) site_->swap_job(number, job);
  });
  return is_free;
}

void SwitchShard::end_job(std::uint16_t job, const core::Abort& abort) {
  command([this, job, &abort] { site_->end_job(job, abort); });
}

void SwitchShard::remove_job(std::uint16_t job) {
  std::unique_ptr<AggregationSite::Job> removed;
  command([this, job, &removed] { site_->swap_job(job, removed); });
}

SiteStatistics SwitchShard::statistics() {
  SiteStatistics statistics;
  command([this, &statistics] { statistics = site_->statistics(); });
  return statistics;
}

// Runs it on the shard's thread, between two batches, and waits for it.
void SwitchShard::command(std::function<void()> action) {
  std::promise<void> done;
  {
    const std::lock_guard lock(mutex_);
    commands_.push_back([&] {
      action();
      done.set_value();
    });
    has_commands_.store(true, std::memory_order_release);
  }
  site_->wake();
  done.get_future().wait();
}

void SwitchShard::run() {
  for (;;) {
    if (has_commands_.load(std::memory_order_acquire)) run_commands();
    if (stops_) return;
    const std::size_t served = site_->serve();
    const base::Instant now = io::monotonic_now();
    if (served > 0) {
      polling_.found(now);
    } else {
      polling_.wait(now, site_->last_was_small(), [this] { site_->wait(base::Instant::never()); });
    }
  }
}

void SwitchShard::run_commands() {
  std::vector<std::function<void()>> commands;
  {
    const std::lock_guard lock(mutex_);
    commands.swap(commands_);
    has_commands_.store(false, std::memory_order_relaxed);
  }
  for (const std::function<void()>& each : commands) each();
}

}  // namespace infold::site
