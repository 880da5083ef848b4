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

#include "study/emulate/at_switch/switch_relay.h"

namespace infold::emulate {

struct SwitchRelay::Job {
  std::string name;
  std::set<std::uint64_t> real;             // ranks that have not left
  std::set<std::uint64_t> emulated;         // ranks that the switch has not dismissed
  std::optional<join::ReadyReport> report;  // the first real rank's, repeated by emulated ranks
  std::optional<join::JobTerms> terms;
  bool has_rank_0 = false;  // rank 0 joined here, so its calls are known
  bool has_begun = false;   // the switch has sent Go to some rank
  bool at_plane = false;
  bool is_over = false;               // the switch says so
  bool is_dissolved = false;          // its last real rank has left
  std::optional<std::uint64_t> last;  // the last real rank, which waits for emulated ranks to leave
  // If ranks sum: the listeners of dismissed ranks, while some emulated rank is not yet dismissed.
  // The switch dismisses the very last rank when the job's slots are free.
  std::vector<std::shared_ptr<join::RankListener>> dismissed;
};

struct SwitchRelay::Rank {
  join::Hello hello;
  std::shared_ptr<join::RankListener> listener;  // null: emulated, or its last call was made
  std::shared_ptr<Job> job;
  bool is_opening = true;                // the link is being opened
  std::shared_ptr<join::RankLink> link;  // null: not open yet, or cut
  bool has_terms = false;
  bool is_ready = false;  // a real rank has said so
  bool may_go = false;
  std::optional<join::Parting> leaves;
};

}  // namespace infold::emulate
