// SPDX-License-Identifier: Apache-2.0
//
// Begins the delegate's calls of one group. The delegate pairs the ranks' calls by their order. One
// thread therefore begins them in the order in which they were submitted, each after its check has
// ended. The first call starts that thread.
#pragma once

#include <deque>
#include <memory>
#include <thread>

#include "base/mutex.h"
#include "python/backend/delegate/delegated_work.h"

namespace infold::pytorch {

class Delegation : public std::enable_shared_from_this<Delegation> {
 public:
  Delegation() = default;
  ~Delegation() { end(); }
  Delegation(const Delegation&) = delete;
  Delegation& operator=(const Delegation&) = delete;

  // Starts the thread, or throws if the process cannot have another one. Call it before other ranks
  // hear of the call.
  void prepare();
  // Requires: prepare() has returned.
  void submit(const c10::intrusive_ptr<DelegatedWork>& work);
  // Returns when all submitted calls have begun or failed. Later calls fail. Requires: their checks
  // end. May be called repeatedly.
  void end();

 private:
  void run();

  base::Mutex mutex_;
  base::ConditionVariable changed_;
  std::deque<c10::intrusive_ptr<DelegatedWork>> waiting_ GUARDED_BY(mutex_);
  bool has_ended_ GUARDED_BY(mutex_) = false;
  std::thread thread_ GUARDED_BY(mutex_);
};

}  // namespace infold::pytorch
