// SPDX-License-Identifier: Apache-2.0
//
// The sizes and the table of all_reduce_perf from nccl-tests. With the same format, people can
// compare rows of infold and NCCL, and programs that read such tables can read ours. The functions
// are pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <tl/expected.hpp>

namespace infold::cli {

// The options -b, -e, -i and -f. A bound that is not set equals the other one. If neither is set,
// the smallest size is 32 MiB.
struct NcclSizes {
  std::optional<std::uint64_t> low;
  std::optional<std::uint64_t> high;
  std::optional<std::uint64_t> step_bytes;   // unset: 1 MiB
  std::optional<std::uint32_t> step_factor;  // 1 or unset: add step_bytes instead

  bool are_wanted() const { return low || high || step_bytes || step_factor; }
  // Returns all sizes in rising order. An error says which option to change.
  tl::expected<std::vector<std::uint64_t>, std::string> all() const;
};

// In 10^9 bytes per second, as nccl-tests defines them.
struct NcclSpeed {
  double algorithm = 0;  // the tensor's bytes divided by the time
  // `algorithm` times 2 (world - 1) / world, because a ring puts so many bytes on each link.
  double bus = 0;
};
NcclSpeed nccl_speed(std::uint64_t bytes, double seconds, int world);

// One half of a row. The times are means over all calls.
struct NcclHalf {
  double seconds = 0;
  NcclSpeed speed;
  std::optional<std::uint64_t> wrong;  // unset: not checked
};

// Returns three lines that begin with '#', so that programs skip them.
std::string nccl_head();
// Returns a row with two halves: out of place, then in place.
std::string nccl_row(std::uint64_t bytes, std::uint64_t elements, const std::string& type,
                     const std::string& operation, const NcclHalf& apart, const NcclHalf& in_place);
// Returns lines that begin with '#': the number of wrong elements in all rows, and the mean bus
// bandwidth of all halves.
std::string nccl_tail(std::uint64_t wrong, const std::vector<double>& bus);

}  // namespace infold::cli
