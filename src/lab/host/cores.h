// SPDX-License-Identifier: Apache-2.0
//
// The cores that this process may use, and threads and programs that stay on one of them.
#pragma once

#include <sched.h>
#include <span>
#include <vector>

#include "lab/child.h"

namespace infold::lab {

// In rising order. At least one.
std::vector<int> own_cores();

// While this lives, the thread that made it runs on that core only. Threads that it starts inherit
// that.
class StaysOnCore {
 public:
  explicit StaysOnCore(int core);
  ~StaysOnCore();
  StaysOnCore(const StaysOnCore&) = delete;
  StaysOnCore& operator=(const StaysOnCore&) = delete;

 private:
  cpu_set_t before_;
};

// The command that runs `words` on these cores only.
Words on_cores(std::span<const int> cores, const Words& words);

}  // namespace infold::lab
