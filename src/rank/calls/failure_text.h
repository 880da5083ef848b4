// SPDX-License-Identifier: Apache-2.0
//
// From a core::Failure to one sentence for the person who wrote the call: which call, what
// happened, which rank to look at, and what to do. Pure.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include <infold/result.h>

#include "base/instant.h"
#include "core/format.h"
#include "core/worker/worker.h"
#include "sparse/block_sum.h"

namespace infold::rank {

// A rank's calls are numbered from 1; the same number is the same call on every rank. 0 is none of
// them, and stands for the job.
struct CallName {
  core::Collective collective = core::Collective::barrier;
  std::uint64_t number = 0;
  bool in_parts = false;  // see CallRequest
};

// Ends the message of every failed call but those whose row lengths differ.
inline constexpr const char* kMakeNewCommunicators =
    "; the job is over on all ranks, make new communicators";

// "all_reduce #3"
std::string call_text(CallName name);
// "rank 5", "ranks 1 and 3 to 5"; empty for no ranks.
std::string ranks_text(const core::RankRanges& ranges);

struct FailedCall {
  CallName name;
  std::uint64_t elements = 0;
  bool composed = false;   // a transfer of it counts other elements than its tensors have
  bool exchanges = false;  // such a one comes first in this wire format, and not in others
  std::uint16_t rank = 0;  // of the communicator
  base::Duration elapsed;  // since the call
  std::span<const std::string> site_names = {};
  std::string_view lost_switch = {};  // its address, where it is not the site's
};

// An aggregator is gone, and no rank is known to be.
bool is_site_lost(const core::Failure& failure);
// The message says what happened; what to do about the job is for the caller to add.
Error describe(const core::Failure& failure, const FailedCall& call);
// Of a wait that has run out before its call.
Error describe_pending(CallName name, base::Duration waited, const core::RankRanges& missing);
// All ranks find it in the same call, so that the job goes on. Without the call's name.
Error describe_row_lengths(const sparse::BlockSum::RowLengths& lengths);

}  // namespace infold::rank
