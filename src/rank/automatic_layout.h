// SPDX-License-Identifier: Apache-2.0
//
// The layout of a member's calls that leave it open (Layout::automatic). Ranks decide alike without
// asking each other, from calls that were done before (sparse/layout_choice.h). So a call waits for
// the one on which its choice rests: sparse::LayoutChoice::kBehind such calls earlier, and thus
// nearly always done.
//
// choose() is for one thread at a time, in the order of calls; any thread may call learn().
#pragma once

#include <mutex>
#include <optional>

#include <infold/result.h>

#include "codec/format_choice.h"
#include "rank/calls/call.h"
#include "rank/calls/request.h"
#include "rank/drivers/in_flight.h"
#include "sparse/layout_choice.h"

namespace infold::rank {

class AutomaticLayout {
 public:
  // Whether the request leaves its layout open. The same at all ranks, as requests and formats are.
  static bool decides(const CallRequest& request, const codec::FormatChoice& format);

  // Sets call.layout. A call that is made again keeps what was chosen: other ranks may begin it
  // only now, and choose the same, because what is chosen from was done before. An error: the job
  // is over.
  std::optional<Error> choose(Call& call, const CallRequest& request,
                              const codec::FormatChoice& format, InFlight& in_flight);
  // A call for which choose() has chosen is done. `is_last`: no later call has begun.
  void learn(const Call& call, bool is_last);

 private:
  std::mutex mutex_;
  sparse::LayoutChoice choice_;
};

}  // namespace infold::rank
