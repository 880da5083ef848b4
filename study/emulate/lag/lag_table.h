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

// Has a row for each transfer, with a lag for each rank. The table restarts from its first row
// after the last one.
class LagTable {
 public:
  // Each line has one number of microseconds per rank, separated by commas. # begins a comment. An
  // error names the line and the rank.
  static tl::expected<LagTable, std::string> read(std::string_view text, std::uint32_t ranks);
  // Measures how much later than rank 0 each rank of the run made its calls. A rank that was
  // earlier has no lag. An error says why these are not traces of `ranks` ranks.
  static tl::expected<LagTable, std::string> of_run(std::span<const trace::Trace> traces,
                                                    std::uint32_t ranks);

  bool empty() const { return rows_.empty(); }
  std::size_t size() const { return rows_.size(); }
  // Transfers are counted from 1. Requires: a rank of the table, unless it is empty.
  base::Duration of(std::uint16_t rank, std::uint64_t transfer) const {
    return rows_.empty() ? base::Duration{} : rows_[(transfer - 1) % rows_.size()][rank];
  }

 private:
  std::vector<std::vector<base::Duration>> rows_;
};

}  // namespace infold::emulate
