// SPDX-License-Identifier: Apache-2.0
#include "site/packet_counts.h"

#include <algorithm>

#include "base/check.h"

namespace infold::site {
namespace {

bool is_of_program(std::size_t index) {
  return index >= count_index(core::Verdict::count_) &&
         index != count_index(PlaneVerdict::answered_probe);
}

}  // namespace

const char* count_name(std::size_t index) {
  CHECK_THAT(index, <, kPacketCounts);
  if (index < count_index(core::Verdict::count_)) {
    return core::verdict_name(static_cast<core::Verdict>(index));
  }
  switch (static_cast<PlaneVerdict>(index - count_index(core::Verdict::count_))) {
    case PlaneVerdict::dropped_checksum: return "dropped_checksum";
    case PlaneVerdict::dropped_busy: return "dropped_busy";
    case PlaneVerdict::dropped_broken: return "dropped_broken";
    case PlaneVerdict::dropped_unsummed: return "dropped_unsummed";
    case PlaneVerdict::dropped_unsendable: return "dropped_unsendable";
    case PlaneVerdict::answered_probe: return "answered_probe";
    case PlaneVerdict::heard_echo: return "heard_echo";
    case PlaneVerdict::dropped_stray: return "dropped_stray";
    case PlaneVerdict::count_: break;
  }
  return "unknown";
}

std::vector<status::PacketCount> named_counts(std::span<const std::uint64_t> counts) {
  std::vector<status::PacketCount> named;
  for (std::size_t i = 0; i < counts.size(); ++i) named.push_back({count_name(i), counts[i]});
  return named;
}

std::vector<status::PacketCount> named_counts_in_user_space(const PacketCounts& counts) {
  std::vector<status::PacketCount> named;
  for (std::size_t i = 0; i < counts.size(); ++i) {
    if (!is_of_program(i)) named.push_back({count_name(i), counts[i]});
  }
  return named;
}

void set_job_packets(std::uint16_t job, const core::VerdictCounters& verdicts,
                     std::vector<status::JobMetrics>& jobs) {
  const auto found = std::find_if(jobs.begin(), jobs.end(), [job](const status::JobMetrics& each) {
    return each.running && each.job == job;
  });
  if (found != jobs.end()) found->packets = named_counts(verdicts);
}

}  // namespace infold::site
