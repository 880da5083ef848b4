// SPDX-License-Identifier: Apache-2.0
//
// One call of one rank, from the request to the result: what the member must remember of it, and
// the place where its handle waits. Calls belong to their member and are used again.
//
// The first part is the member's, and does not change while the call is in flight. The second part
// has a mutex, for any number of waiting threads.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include <infold/options.h>
#include <infold/result.h>
#include <infold/rows.h>

#include "base/instant.h"
#include "codec/agreement.h"
#include "core/worker/worker.h"
#include "rank/calls/failure_text.h"
#include "rank/calls/fusion.h"
#include "rank/calls/request.h"
#include "rank/calls/rows_memory.h"
#include "rank/calls/scratch_pool.h"
#include "sparse/block_sum.h"
#include "sparse/layout_choice.h"

namespace infold::rank {

class Member;

class Call {
 public:
  explicit Call(Member& member) : member_(member) {}

  struct Description {
    CallName name;
    std::uint64_t elements = 0;
    bool composed = false;  // see FailedCall
    base::Instant started;
    base::Instant deadline;
    // Where the result goes, at once or, with staging, when the call succeeds; null for nowhere.
    void* output = nullptr;
    std::size_t output_bytes = 0;
    Rows* output_rows = nullptr;  // or here
  };
  Description description;
  bool is_checked = false;  // stands for calls that CheckedCalls makes
  // To make it again where the job may come back (rejoiner.h), which also guards the last two.
  CallRequest request;
  std::vector<MutableTensorView> request_list;  // the request's own, which its caller may drop
  bool input_survives = true;                   // should the call fail
  bool is_kept = false;
  std::uint64_t order = 0;
  // Its transfers follow one another; the call is finished when none is left.
  core::TransferId first_transfer = core::TransferId::none;
  core::TransferId last_transfer = core::TransferId::none;
  std::uint32_t transfers_left = 0;
  std::uint16_t ranks_summed = 0;
  std::optional<core::Failure> failure;  // of the first that failed
  Scratch staging;                       // the result until then, of calls in place
  // Of a list of tensors: those that travel alone, and what is staged.
  struct Large {
    MutableTensorView tensor;
    std::size_t staged_at = 0;
  };
  std::vector<Large> large;
  Fusion fusion;
  // Of a tensor without its zeros: how many transfers it takes, else 0.
  std::uint32_t block_steps = 0;
  std::unique_ptr<sparse::BlockSum> block_sum;
  // Of a call whose layout is chosen; stays when the call is made again.
  std::optional<sparse::LayoutChoice::Choice> choice;
  sparse::Opinions opinions = 0;  // of all ranks, once joined
  bool begins_alone = false;
  base::Instant launched;
  base::Instant joined;                     // when the ranks knew what some rank has
  std::unique_ptr<RowsMemory> rows_result;  // of a result in rows
  codec::Agreement agreement;               // of fixed32

  // Makes a finished call a new one.
  void reset();
  // Makes one that has failed ready to be made again.
  void start_over();
  void finish(Result<Completion> result);

  bool done() const;
  // Empty: not done at that time.
  std::optional<Result<Completion>> wait_until(std::chrono::steady_clock::time_point time) const;
  Result<Completion> wait() const;

  Member& member() const { return member_; }

 private:
  Member& member_;
  mutable std::mutex mutex_;
  mutable std::condition_variable finished_;
  std::optional<Result<Completion>> result_;
};

}  // namespace infold::rank
