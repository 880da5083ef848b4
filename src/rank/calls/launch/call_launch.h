// SPDX-License-Identifier: Apache-2.0
//
// The launch that makes a call, and the launch's outline, as each Call keeps them. The member
// begins and clears the launch; other classes call the functions in between. One object serves one
// call after another, and keeps a launch of each kind that it has needed. Not thread-safe.
#pragma once

#include <memory>
#include <optional>
#include <utility>

#include <infold/result.h>

#include "rank/calls/launch/launch.h"
#include "rank/calls/launch/launch_choice.h"

namespace infold::rank {

class CallLaunch {
 public:
  explicit CallLaunch(std::shared_ptr<ScratchPool> pool) : choice_(std::move(pool)) {}
  CallLaunch(const CallLaunch&) = delete;
  CallLaunch& operator=(const CallLaunch&) = delete;

  // Chooses the launch for a sound request and begins it. Throws std::bad_alloc.
  std::optional<Error> begin(const CallRequest& request, const LaunchTerms& terms, bool is_sparse) {
    launch_ = &choice_.choose(request, terms.format, is_sparse);
    Result<LaunchOutline> outline = launch_->begin(request, terms);
    if (!outline) return std::move(outline.error());
    outline_ = *outline;
    format_ = terms.format.name;
    return std::nullopt;
  }
  // Gives back what the launch has staged. Requires: none of its transfers is in flight. The
  // outline stays, because messages need it.
  void clear() {
    if (launch_ != nullptr) launch_->clear();
    launch_ = nullptr;
  }
  // Like clear(), and also forgets the outline.
  void reset() {
    clear();
    outline_ = {};
  }

  const LaunchOutline& outline() const { return outline_; }
  const char* format() const { return format_; }  // the name of the encoding
  // These functions belong to the launch (launch.h). Requires: begun, and not cleared.
  core::TransferRequest transfer(std::uint32_t number, core::TransferId before) {
    return launch_->transfer(number, before);
  }
  Launch::Size size_after(std::uint32_t number, base::Instant now) {
    return launch_->size_after(number, now);
  }
  std::optional<Error> deliver() { return launch_->deliver(); }
  sparse::LayoutChoice::Outcome outcome() const { return launch_->outcome(); }

 private:
  LaunchChoice choice_;
  Launch* launch_ = nullptr;  // one of those in choice_, once begun
  LaunchOutline outline_;
  const char* format_ = "";
};

}  // namespace infold::rank
