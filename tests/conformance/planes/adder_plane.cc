// SPDX-License-Identifier: Apache-2.0
//
// Translates the vectors' words to the pipeline's types. Vectors name missing ranks by ranges, and
// the pipeline names them by bits. A worker reads both forms, so this file writes the bits as
// ranges.
#include "tests/conformance/planes/adder_plane.h"

#include "tests/conformance/planes/software_plane.h"

namespace infold::conformance {
namespace {

std::vector<std::byte> with_ranges(std::span<const std::byte> pending, std::uint32_t world) {
  core::Packet packet;
  if (core::parse(pending, packet) != core::Malformed::none) return {};
  std::vector<core::RankRange> missing;
  const auto ranges = core::read_missing(packet, world);
  for (std::uint32_t i = 0; ranges && i < ranges->count; ++i) missing.push_back(ranges->range[i]);
  std::vector<std::byte> datagram(pending.size() + INFOLD_PENDING_BYTES_MAX);
  packet.header.flags &= static_cast<std::uint8_t>(~INFOLD_FLAG_BITS);
  core::write_header(packet.header, datagram);
  datagram.resize(INFOLD_HEADER_BYTES + core::write_missing(missing, core::PendingForm::ranges,
                                                            world,
                                                            datagram.data() + INFOLD_HEADER_BYTES));
  return datagram;
}

}  // namespace

std::string AdderPlane::configure(const PlaneJob& job) {
  if (job.ports) return "a pipeline alone has no ports";
  if (job.sparse) return "a pipeline that adds takes whole chunks only";
  if (job.native) return "a pipeline that adds sums no native";
  if (job.brief) return "a pipeline that adds sends whole results only";
  const core::AggregatorOptions options = aggregator_options(job);
  if (const char* refusal = core::adder_refusal(options)) return refusal;
  names_by_ranges_ = !job.pending_bits;
  adder_.emplace(options, controller_);
  return "";
}

void AdderPlane::inject(std::span<const std::byte> datagram, From from, std::uint16_t) {
  core::Source source;
  source.side = from == From::parent ? core::Source::Side::above : core::Source::Side::below;
  source.is_elsewhere = from == From::elsewhere;
  verdict_ = adder_->handle_datagram(datagram, source);
  sent_.clear();
  while (const auto sent = adder_->poll_transmit()) {
    sent_.push_back({static_cast<Outgoing::To>(sent->to),
                     sent->worker,
                     {sent->datagram.begin(), sent->datagram.end()}});
  }
}

std::vector<Outgoing> AdderPlane::collect() {
  std::vector<Outgoing> all = sent_;
  if (verdict_ == core::Verdict::answered_pending && names_by_ranges_) {
    for (Outgoing& out : all) out.datagram = with_ranges(out.datagram, INFOLD_WORKERS_MAX);
  }
  return all;
}

std::optional<std::string> AdderPlane::drop_reason() {
  const std::string name = core::verdict_name(verdict_);
  const std::string prefix = "dropped_";
  return name.starts_with(prefix) ? name.substr(prefix.size()) : std::string();
}

}  // namespace infold::conformance
