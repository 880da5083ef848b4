// SPDX-License-Identifier: Apache-2.0
//
// A recorded run on another network: how long its steps take there, and what the time goes to.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <tl/expected.hpp>

#include "trace/trace_check.h"
#include "whatif/groups.h"
#include "whatif/playback.h"
#include "whatif/setting.h"
#include "whatif/split.h"

namespace infold::whatif {

// The traces of one run.
class RecordedRun {
 public:
  // A lone trace stands for all ranks of its run. The error names the file or the ranks. Requires:
  // no fault in any trace alone.
  static tl::expected<RecordedRun, std::string> make(std::vector<trace::NamedTrace> traces);

  std::uint64_t ranks() const { return ranks_; }  // of the run; 1 if nobody knows
  // By rank, or the lone one.
  const std::vector<trace::Trace>& traces() const { return traces_; }
  const RecordedGroups& groups() const { return groups_; }
  // The distinct programs of so many ranks, which play them in turn. A tensor that ranks gather or
  // scatter keeps its size, and a rank's part of it changes.
  std::vector<trace::Trace> programs_for(std::uint16_t ranks) const;

 private:
  std::vector<trace::Trace> traces_;
  std::uint64_t ranks_ = 1;
  RecordedGroups groups_;
};

std::vector<std::vector<Step>> steps_of(const std::vector<trace::Trace>& traces);

struct Prediction {
  Split split;
  std::vector<trace::Trace> played;      // by rank, from the time 0 on
  std::vector<std::vector<Step>> steps;  // by rank
};

// The error says why the setting cannot carry the run. The groups are those of the run.
tl::expected<Prediction, std::string> predict(const RecordedRun& run, const Setting& setting,
                                              PlaybackOptions options);

}  // namespace infold::whatif
