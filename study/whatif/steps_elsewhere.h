// SPDX-License-Identifier: Apache-2.0
//
// Predicts a recorded run on another network: how long its steps take there, and how the time is
// spent.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <tl/expected.hpp>

#include "study/whatif/groups.h"
#include "study/whatif/playback.h"
#include "study/whatif/setting.h"
#include "study/whatif/split.h"
#include "trace/trace_check.h"

namespace infold::whatif {

// The traces of one run.
class RecordedRun {
 public:
  // A single trace stands for all ranks of its run. An error names the file or the ranks. Requires:
  // each trace has no fault by itself.
  static tl::expected<RecordedRun, std::string> make(std::vector<trace::NamedTrace> traces);

  std::uint64_t ranks() const { return ranks_; }  // the ranks of the run; 1 if unknown
  // Returns the traces by rank, or the single one.
  const std::vector<trace::Trace>& traces() const { return traces_; }
  const RecordedGroups& groups() const { return groups_; }
  // Returns the distinct programs for this many ranks, which play them in turn. A tensor that ranks
  // gather or scatter keeps its size, while a rank's part of it changes.
  std::vector<trace::Trace> programs_for(std::uint16_t ranks) const;

 private:
  std::vector<trace::Trace> traces_;
  std::uint64_t ranks_ = 1;
  RecordedGroups groups_;
};

std::vector<std::vector<Step>> steps_of(const std::vector<trace::Trace>& traces);

struct Prediction {
  Split split;
  std::vector<trace::Trace> played;      // by rank, from time 0 on
  std::vector<std::vector<Step>> steps;  // by rank
};

// An error says why the setting cannot carry the run. The run determines the groups.
tl::expected<Prediction, std::string> predict(const RecordedRun& run, const Setting& setting,
                                              PlaybackOptions options);

}  // namespace infold::whatif
