// SPDX-License-Identifier: Apache-2.0
//
// Turns a core::Failure into one sentence for the person who wrote the call: which call failed,
// what happened, which rank to look at, and what to do. Pure functions.
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

// Calls are numbered from 1, and the same number means the same call on every rank. The number 0
// stands for the job as a whole.
struct CallName {
  core::Collective collective = core::Collective::barrier;
  std::uint64_t number = 0;
  bool in_parts = false;  // see CallRequest
};

// Ends the message of every failed call, unless the rows' lengths differ between ranks.
inline constexpr const char* kMakeNewCommunicators =
    "; the job is over on all ranks, make new communicators";

// "all_reduce #3"
std::string call_text(CallName name);
// "rank 5", "ranks 1 and 3 to 5"; empty for no ranks.
std::string ranks_text(const core::RankRanges& ranges);

struct FailedCall {
  CallName name;
  std::uint64_t elements = 0;
  bool composed = false;   // transfers have other numbers of elements than the call's tensors
  bool exchanges = false;  // this wire format begins with a transfer that other formats lack
  std::uint16_t rank = 0;  // this rank's number in the communicator
  base::Duration elapsed;  // since the call
  std::span<const std::string> site_names = {};
  std::string_view lost_switch = {};  // its address, if it differs from the site's
};

// Whether an aggregator is gone and no rank is known to be gone.
bool is_site_lost(const core::Failure& failure);
// Says what happened. The caller adds what to do about the job.
Error describe(const core::Failure& failure, const FailedCall& call);
// The error of a wait that timed out before its call ended.
Error describe_pending(CallName name, base::Duration waited, const core::RankRanges& missing);
// All ranks find this error in the same call, so the job continues. The text omits the call's name.
Error describe_row_lengths(const sparse::BlockSum::RowLengths& lengths);

}  // namespace infold::rank
