// SPDX-License-Identifier: Apache-2.0
//
// The sizes and the table of nccl-tests' all_reduce_perf. So rows of infold and NCCL can be
// compared, and programs that read such tables can read ours. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <tl/expected.hpp>

namespace infold::cli {

// -b, -e, -i and -f. An unset bound equals the other one. If both are unset, the smallest size is
// 32 MiB.
struct NcclSizes {
  std::optional<std::uint64_t> low;
  std::optional<std::uint64_t> high;
  std::optional<std::uint64_t> step_bytes;   // unset: 1 MiB
  std::optional<std::uint32_t> step_factor;  // 1 or unset adds step_bytes

  bool are_wanted() const { return low || high || step_bytes || step_factor; }
  // Returns all sizes, rising. An error says which option to change.
  tl::expected<std::vector<std::uint64_t>, std::string> all() const;
};

// In 10^9 bytes a second, by the definitions of nccl-tests.
struct NcclSpeed {
  double algorithm = 0;  // the tensor's bytes divided by the time
  // `algorithm` times 2 (world - 1) / world: the bytes that a ring puts on each link.
  double bus = 0;
};
NcclSpeed nccl_speed(std::uint64_t bytes, double seconds, int world);

// One half of a row. The times are means of all calls.
struct NcclHalf {
  double seconds = 0;
  NcclSpeed speed;
  std::optional<std::uint64_t> wrong;  // unset: not checked
};

// Three lines, each behind a '#', so that programs skip them.
std::string nccl_head();
// A row of two halves: out of place, then in place.
std::string nccl_row(std::uint64_t bytes, std::uint64_t elements, const std::string& type,
                     const std::string& operation, const NcclHalf& apart, const NcclHalf& in_place);
// Lines behind '#': the wrong elements of all rows, and the mean bus bandwidth of all halves.
std::string nccl_tail(std::uint64_t wrong, const std::vector<double>& bus);

}  // namespace infold::cli
