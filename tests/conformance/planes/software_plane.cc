// SPDX-License-Identifier: Apache-2.0
//
// Translates the vectors' words to the aggregator's types.
#include "tests/conformance/planes/software_plane.h"

namespace infold::conformance {

core::AggregatorOptions aggregator_options(const PlaneJob& job) {
  core::AggregatorOptions options;
  options.job = job.job;
  options.epoch = job.epoch;
  options.slot_count = job.slots;
  options.world = job.world;
  for (const Ranks& ranks : job.workers) {
    const core::RankRange range = {static_cast<std::uint16_t>(ranks.first),
                                   static_cast<std::uint16_t>(ranks.count)};
    if (ranks.is_range) {
      options.add_aggregator(range);
    } else {
      options.workers.push_back(range);
    }
  }
  options.parent_worker = job.parent_worker;
  options.datagram_bytes_max = job.datagram_bytes_max;
  options.elements_max = job.elements_max;
  options.brief_results = job.brief;
  options.check_period = 1;
  return options;
}

std::string SoftwarePlane::configure(const PlaneJob& job) {
  site_.reset();
  if (job.ports) return site_.emplace(arithmetic_).configure(job);
  core::AggregatorOptions options = aggregator_options(job);
  options.pending = job.pending_bits ? core::PendingForm::bits : core::PendingForm::ranges;
  options.arithmetic = arithmetic_;
  aggregator_.emplace(options);
  workers_ = options.workers.size();
  return "";
}

void SoftwarePlane::inject(std::span<const std::byte> datagram, From from, std::uint16_t port) {
  if (site_) return site_->inject(datagram, from, port);
  core::Source source;
  source.side = from == From::parent ? core::Source::Side::above : core::Source::Side::below;
  source.is_elsewhere = from == From::elsewhere;
  verdict_ = aggregator_->handle_datagram(datagram, source);
}

std::vector<Outgoing> SoftwarePlane::collect() {
  if (site_) return site_->collect();
  std::vector<Outgoing> all;
  while (const auto sent = aggregator_->poll_transmit()) {
    // The workers get their packets one by one if one of them gets a different packet.
    const std::size_t receivers = sent->brief_for ? workers_ : 1;
    for (std::size_t i = 0; i < receivers; ++i) {
      Outgoing out;
      out.to = sent->brief_for ? Outgoing::To::worker : static_cast<Outgoing::To>(sent->to);
      out.worker = sent->brief_for ? static_cast<std::uint8_t>(i) : sent->worker;
      const std::span datagram = sent->datagram_for(i);
      out.datagram.assign(datagram.begin(), datagram.end());
      all.push_back(out);
    }
  }
  return all;
}

std::optional<std::string> SoftwarePlane::drop_reason() {
  if (site_) return site_->drop_reason();
  const std::string name = core::verdict_name(verdict_);
  const std::string prefix = "dropped_";
  return name.starts_with(prefix) ? name.substr(prefix.size()) : std::string();
}

}  // namespace infold::conformance
