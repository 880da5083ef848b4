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
#include <mutex>
#include <optional>
#include <vector>

#include <infold/options.h>
#include <infold/result.h>

#include "base/instant.h"
#include "core/worker.h"
#include "runtime/failure_text.h"
#include "runtime/scratch_pool.h"

namespace infold::runtime {

class Member;

class Call {
 public:
  explicit Call(Member& member) : member_(member) {}

  struct Description {
    CallName name;
    std::uint64_t elements = 0;
    bool agreed = false;
    base::Instant started;
    // Where the result goes, at once or, with staging, when the call succeeds; null for nowhere.
    void* output = nullptr;
    std::size_t output_bytes = 0;
  };
  Description description;
  // Its transfers follow one another; the call is finished when none is left.
  core::TransferId first_transfer = core::TransferId::none;
  core::TransferId last_transfer = core::TransferId::none;
  std::uint32_t transfers_left = 0;
  std::uint16_t ranks_summed = 0;
  std::optional<core::Failure> failure;  // of the first that failed
  Scratch staging;                       // the result until then, of calls in place
  std::vector<std::uint16_t> own_codes;  // of fixed32, one per block
  std::vector<std::uint16_t> agreed_codes;

  // Makes a finished call a new one.
  void reset();
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

}  // namespace infold::runtime
