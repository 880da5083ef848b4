// SPDX-License-Identifier: Apache-2.0
//
// Reads the packet program's counters, whose names are the same for all planes.
#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <span>
#include <utility>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "base/check.h"
#include "planes/xdp/program/program.h"
#include "site/packet_counts.h"

namespace infold::xdp {
namespace {

using core::Verdict;
using site::count_index;
using site::PlaneVerdict;

// Each counter of the program, and the index of its verdict.
constexpr std::pair<int, std::size_t> kReasons[] = {
    {INFOLD_XDP_CONTRIBUTED, count_index(Verdict::contributed)},
    {INFOLD_XDP_COMPLETED, count_index(Verdict::completed)},
    {INFOLD_XDP_REPLAYED, count_index(Verdict::replayed)},
    {INFOLD_XDP_ANSWERED_PENDING, count_index(Verdict::answered_pending)},
    {INFOLD_XDP_FORWARDED_AGAIN, count_index(Verdict::forwarded_again)},
    {INFOLD_XDP_DELIVERED, count_index(Verdict::delivered)},
    {INFOLD_XDP_JOB_ENDED, count_index(Verdict::job_ended)},
    {INFOLD_XDP_ANSWERED_ENDED, count_index(Verdict::answered_ended)},
    {INFOLD_XDP_DROPPED_MALFORMED, count_index(Verdict::dropped_malformed)},
    {INFOLD_XDP_DROPPED_FOREIGN_JOB, count_index(Verdict::dropped_foreign_job)},
    {INFOLD_XDP_DROPPED_STALE_EPOCH, count_index(Verdict::dropped_stale_epoch)},
    {INFOLD_XDP_DROPPED_TAG, count_index(Verdict::dropped_tag)},
    {INFOLD_XDP_DROPPED_WRONG_WAY, count_index(Verdict::dropped_wrong_way)},
    {INFOLD_XDP_DROPPED_BAD_WORKER, count_index(Verdict::dropped_bad_worker)},
    {INFOLD_XDP_DROPPED_WRONG_SOURCE, count_index(Verdict::dropped_wrong_source)},
    {INFOLD_XDP_DROPPED_BAD_SLOT, count_index(Verdict::dropped_bad_slot)},
    {INFOLD_XDP_DROPPED_STALE_ROUND, count_index(Verdict::dropped_stale_round)},
    {INFOLD_XDP_DROPPED_EARLY_ROUND, count_index(Verdict::dropped_early_round)},
    {INFOLD_XDP_DROPPED_REPEAT, count_index(Verdict::dropped_repeat)},
    {INFOLD_XDP_DROPPED_LIMITS, count_index(Verdict::dropped_limits)},
    {INFOLD_XDP_DROPPED_PART, count_index(Verdict::dropped_part)},
    {INFOLD_XDP_DROPPED_CHECKSUM, count_index(PlaneVerdict::dropped_checksum)},
    {INFOLD_XDP_DROPPED_BUSY, count_index(PlaneVerdict::dropped_busy)},
    {INFOLD_XDP_DROPPED_BROKEN, count_index(PlaneVerdict::dropped_broken)},
    {INFOLD_XDP_DROPPED_UNSUMMED, count_index(PlaneVerdict::dropped_unsummed)},
    {INFOLD_XDP_DROPPED_UNSENDABLE, count_index(PlaneVerdict::dropped_unsendable)},
    {INFOLD_XDP_ANSWERED_PROBE, count_index(PlaneVerdict::answered_probe)},
    {INFOLD_XDP_HEARD_ECHO, count_index(PlaneVerdict::heard_echo)},
};

// Checks that all numbers are equal and complete, so that the code does not need a table at run
// time.
constexpr bool are_all_the_same() {
  int next = 0;
  for (const auto& [number, index] : kReasons) {
    if (number != next++ || index != static_cast<std::size_t>(number)) return false;
  }
  return next == INFOLD_XDP_COUNTERS;
}
static_assert(are_all_the_same(),
              "a counter of planes/xdp/bpf/state.h lacks its reason in packet_counts.h");
static_assert(INFOLD_XDP_COUNTERS == count_index(PlaneVerdict::dropped_stray),
              "a reason of packet_counts.h lacks its counter in planes/xdp/bpf/state.h");

// Reads the first bytes of each entry of a map, for each processor.
template <typename Value>
std::vector<Value> read_each(const bpf_map* map) {
  const auto processors = static_cast<std::size_t>(libbpf_num_possible_cpus());
  const std::size_t stride = (bpf_map__value_size(map) + std::size_t{7}) / 8 * 8;
  std::uint32_t entries = bpf_map__max_entries(map);
  std::vector<std::uint32_t> keys(entries);
  std::vector<std::byte> bytes(entries * processors * stride);
  std::uint32_t next = 0;
  const int failed = bpf_map_lookup_batch(bpf_map__fd(map), nullptr, &next, keys.data(),
                                          bytes.data(), &entries, nullptr);
  // The kernel reports the end of the map as an error.
  CHECK(failed == 0 || errno == ENOENT);
  CHECK_THAT(entries, ==, bpf_map__max_entries(map));
  std::vector<Value> values(entries * processors);
  for (std::size_t i = 0; i < values.size(); ++i) {
    std::memcpy(&values[i], bytes.data() + i * stride, sizeof(Value));
  }
  return values;
}

void add(std::span<const infold_xdp_counters> counters, Counters& sum) {
  for (const infold_xdp_counters& one : counters) {
    for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += one.count[i];
  }
}

}  // namespace

std::string_view counter_name(std::size_t counter) { return site::count_name(counter); }

Counters Program::counters() const {
  Counters sum{};
  add(read_each<infold_xdp_counters>(bpf_object__find_map_by_name(object_.get(), "counters")), sum);
  return sum;
}

Counters Program::counters_of(std::uint32_t job_index) const {
  const auto all =
      read_each<infold_xdp_counters>(bpf_object__find_map_by_name(object_.get(), "counters"));
  const auto processors = static_cast<std::size_t>(libbpf_num_possible_cpus());
  Counters sum{};
  add(std::span(all).subspan((job_index + std::size_t{1}) * processors, processors), sum);
  return sum;
}

std::optional<Counters> Program::counters_of_job(std::uint16_t job) const {
  const std::optional<std::uint32_t> index = index_of(job);
  if (!index) return std::nullopt;
  Counters now = counters_of(*index);
  for (std::size_t i = 0; i < now.size(); ++i) now[i] -= jobs_[*index].counted_before[i];
  return now;
}

infold_xdp_traffic Program::traffic() const {
  infold_xdp_traffic sum{};
  const bpf_map* const map = bpf_object__find_map_by_name(object_.get(), "works");
  for (const infold_xdp_traffic& one : read_each<infold_xdp_traffic>(map)) {
    sum.received_packets += one.received_packets;
    sum.received_bytes += one.received_bytes;
    sum.sent_packets += one.sent_packets;
    sum.sent_bytes += one.sent_bytes;
  }
  return sum;
}

}  // namespace infold::xdp
