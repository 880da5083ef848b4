// SPDX-License-Identifier: Apache-2.0
#include "study/desk/hangup.h"

#include <atomic>
#include <csignal>

namespace infold::desk {
namespace {

static_assert(std::atomic<bool>::is_always_lock_free, "a signal's handler may not take a lock");
std::atomic<bool> has_come = false;

void note(int) { has_come = true; }

}  // namespace

HangupNotice::HangupNotice() {
  has_come = false;
  before_ = std::signal(SIGHUP, note);
}

HangupNotice::~HangupNotice() { std::signal(SIGHUP, before_); }

bool HangupNotice::take() { return has_come.exchange(false); }

}  // namespace infold::desk
