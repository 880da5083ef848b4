// SPDX-License-Identifier: Apache-2.0
//
// The sizes and the table of nccl-tests' all_reduce_perf, so that a row of infold stands beside one
// of NCCL, and programs that read such tables read ours. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <tl/expected.hpp>

namespace infold::cli {

// -b, -e, -i and -f. A bound that is unset equals the other one; the smallest is otherwise 32 MiB.
struct NcclSizes {
  std::optional<std::uint64_t> low;
  std::optional<std::uint64_t> high;
  std::optional<std::uint64_t> step_bytes;   // else 1 MiB
  std::optional<std::uint32_t> step_factor;  // 1 adds step_bytes instead

  bool are_wanted() const { return low || high || step_bytes || step_factor; }
  // From the smallest to the largest. An error says what to change.
  tl::expected<std::vector<std::uint64_t>, std::string> all() const;
};

// 10^9 bytes a second, by the definitions of nccl-tests.
struct NcclSpeed {
  double algorithm = 0;  // the tensor's bytes by the time
  double bus = 0;        // times 2 (world - 1) / world: what a ring puts on each link
};
NcclSpeed nccl_speed(std::uint64_t bytes, double seconds, int world);

// One half of a row: means of all calls.
struct NcclHalf {
  double seconds = 0;
  NcclSpeed speed;
  std::optional<std::uint64_t> wrong;  // unset: not checked
};

// Three lines, each behind a '#', which programs skip.
std::string nccl_head();
// Two halves: apart, then in place.
std::string nccl_row(std::uint64_t bytes, std::uint64_t elements, const std::string& type,
                     const std::string& operation, const NcclHalf& apart, const NcclHalf& in_place);
// Behind '#', too: the wrong elements of all rows, and the mean of all halves' bus bandwidths.
std::string nccl_tail(std::uint64_t wrong, const std::vector<double>& bus);

}  // namespace infold::cli
