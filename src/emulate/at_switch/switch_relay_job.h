// SPDX-License-Identifier: Apache-2.0
//
// A relay's records of jobs and ranks. Internal to switch_relay*.cc.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "emulate/at_switch/switch_relay.h"

namespace infold::emulate {

struct SwitchRelay::Job {
  std::string name;
  std::set<std::uint64_t> real;      // ranks that have not left
  std::set<std::uint64_t> emulated;  // that the switch has not dismissed
  std::optional<control::ReadyReport>
      report;  // of emulated ranks: what the first real one has said
  std::optional<control::JobTerms> terms;
  bool has_rank_0 = false;  // it came here, so that its calls are heard
  bool has_begun = false;   // the switch has said Go to some rank
  bool at_plane = false;
  bool is_over = false;               // as the switch says
  bool is_dissolved = false;          // its last real rank has left
  std::optional<std::uint64_t> last;  // that rank, which waits for emulated ranks to leave
  // Where ranks sum: those that the switch has dismissed, and emulated ranks not yet. The switch
  // dismisses the last of all when the job's slots are free.
  std::vector<std::shared_ptr<control::RankListener>> dismissed;
};

struct SwitchRelay::Rank {
  control::Hello hello;
  std::shared_ptr<control::RankListener> listener;  // null: emulated, or its last call was made
  std::shared_ptr<Job> job;
  bool is_opening = true;                   // a link
  std::shared_ptr<control::RankLink> link;  // null: not yet, or cut
  bool has_terms = false;
  bool is_ready = false;  // a real rank, as it says
  bool may_go = false;
  std::optional<control::Parting> leaves;
};

}  // namespace infold::emulate
