// SPDX-License-Identifier: Apache-2.0
//
// How much later than rank 0 each rank makes each transfer, as a table from a file or from the
// traces of a run. Plain data.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <tl/expected.hpp>

#include "base/instant.h"
#include "trace/trace.h"

namespace infold::emulate {

// A row for each transfer, with a lag for each rank. Behind the last row the first one follows.
class LagTable {
 public:
  // Each line has a number of microseconds for each rank, with commas between. # begins a comment.
  // The error names the line and the rank.
  static tl::expected<LagTable, std::string> read(std::string_view text, std::uint32_t ranks);
  // By rank: how much later each rank of the run made its calls. One that was earlier has no lag.
  // The error says why these are no traces of so many ranks.
  static tl::expected<LagTable, std::string> of_run(std::span<const trace::Trace> traces,
                                                    std::uint32_t ranks);

  bool empty() const { return rows_.empty(); }
  std::size_t size() const { return rows_.size(); }
  // Transfers count from 1. Requires: a rank of the table, unless it is empty.
  base::Duration of(std::uint16_t rank, std::uint64_t transfer) const {
    return rows_.empty() ? base::Duration{} : rows_[(transfer - 1) % rows_.size()][rank];
  }

 private:
  std::vector<std::vector<base::Duration>> rows_;
};

}  // namespace infold::emulate
