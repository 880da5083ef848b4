// SPDX-License-Identifier: Apache-2.0
//
// Begins the delegate's calls of one group. The delegate pairs the ranks' calls by their order. So
// one thread begins them, in the order in which they are submitted, each after its check has ended.
// The first call starts that thread.
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

  // Starts the thread, or throws if the process has no thread left. Call it before other ranks hear
  // of the call.
  void prepare();
  // Requires: prepare() has returned.
  void submit(const c10::intrusive_ptr<DelegatedWork>& work);
  // Returns when all submitted calls have begun or failed. Later ones fail. Requires: their checks
  // end. Repeatable.
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
