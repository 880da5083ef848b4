// SPDX-License-Identifier: Apache-2.0
//
// The delegate's calls of one group, on their way to it. The delegate pairs ranks' calls by their
// order, so one thread begins them, in the order in which they were submitted, each when its check
// has ended. That thread is there from the first call on.
#pragma once

#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <thread>

#include "python/backend/delegate/delegated_work.h"

namespace infold::pytorch {

class Delegation : public std::enable_shared_from_this<Delegation> {
 public:
  Delegation() = default;
  ~Delegation() { end(); }
  Delegation(const Delegation&) = delete;
  Delegation& operator=(const Delegation&) = delete;

  // Throws where a process has no thread to spare. Before other ranks are told of a call.
  void prepare();
  // Requires: prepare() has returned.
  void submit(const c10::intrusive_ptr<DelegatedWork>& work);
  // Returns when all that were submitted have begun, or failed. What comes later fails. Requires:
  // their checks end. Repeatable.
  void end();

 private:
  void run();

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<c10::intrusive_ptr<DelegatedWork>> waiting_;
  bool has_ended_ = false;
  std::thread thread_;
};

}  // namespace infold::pytorch
