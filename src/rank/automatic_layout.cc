// SPDX-License-Identifier: Apache-2.0
#include "rank/automatic_layout.h"

#include "io/host/clock.h"
#include "sparse/block_sum.h"

namespace infold::rank {
namespace {

sparse::TensorKind kind_of(const CallRequest& request, const FormatChoice& format) {
  return {format.layout, format.reduction, request.input.elements};
}

}  // namespace

bool AutomaticLayout::decides(const CallRequest& request, const FormatChoice& format) {
  return request.options.layout == Layout::automatic &&
         request.collective == core::Collective::all_reduce && !request.is_list && !request.rows &&
         format.exchange == encoding::Exchange::none &&
         sparse::BlockSum::can_be_sparse(format.reduction) &&
         sparse::LayoutChoice::is_long_enough(kind_of(request, format));
}

std::optional<Error> AutomaticLayout::choose(Call& call, const CallRequest& request,
                                             const FormatChoice& format, InFlight& in_flight) {
  LayoutTurn& turn = call.layout;
  turn.launched_ = io::monotonic_now();
  for (;;) {
    const std::uint64_t ended = in_flight.ended();
    const InFlight::State state = in_flight.state();
    if (state.is_over) return Error{Code::aborted, "the job is over", -1, ""};
    turn.begins_alone_ = state.is_idle;
    if (turn.choice_) return std::nullopt;
    {
      const base::MutexLock lock(mutex_);
      if (choice_.is_ready()) {
        turn.choice_ = choice_.next(kind_of(request, format));
        return std::nullopt;
      }
    }
    in_flight.wait_for_end_after(ended);
  }
}

void AutomaticLayout::learn(const Call& call, bool is_last) {
  sparse::LayoutChoice::Outcome outcome = call.launch.outcome();
  outcome.was_alone = call.layout.begins_alone_ && is_last;
  outcome.whole = io::monotonic_now() - call.layout.launched_;
  const base::MutexLock lock(mutex_);
  choice_.done(call.layout.choice_->number, outcome);
}

}  // namespace infold::rank
