// SPDX-License-Identifier: Apache-2.0
//
// Chooses the layout of a member's calls that leave it open (Layout::automatic). All ranks choose
// alike without asking each other, because they choose from calls that are done
// (sparse/layout_choice.h). A call therefore waits for the call that its choice rests on. That call
// was made sparse::LayoutChoice::kBehind such calls earlier, so it is nearly always done.
//
// Only one thread at a time may call choose(), in the order of calls; any thread may call learn().
#pragma once

#include <optional>

#include <infold/result.h>

#include "base/mutex.h"
#include "encoding/format_choice.h"
#include "rank/call.h"
#include "rank/calls/request.h"
#include "rank/drivers/in_flight.h"
#include "rank/layout_turn.h"
#include "sparse/layout_choice.h"

namespace infold::rank {

class AutomaticLayout {
 public:
  // Whether the request leaves its layout open. All ranks get the same answer, because their
  // requests and formats are the same.
  static bool decides(const CallRequest& request, const encoding::FormatChoice& format);

  // Sets call.layout. A call that is made again keeps its layout: other ranks may begin that call
  // only now, and they choose the same layout because they choose from the same earlier calls. An
  // error means that the job is over.
  std::optional<Error> choose(Call& call, const CallRequest& request,
                              const encoding::FormatChoice& format, InFlight& in_flight);
  // Learns from a call for which choose() has chosen, once it is done. `is_last`: no later call has
  // begun.
  void learn(const Call& call, bool is_last);

 private:
  base::Mutex mutex_;
  sparse::LayoutChoice choice_ GUARDED_BY(mutex_);
};

}  // namespace infold::rank
