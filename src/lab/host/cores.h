// SPDX-License-Identifier: Apache-2.0
//
// The cores that this process may use, and threads and programs that stay on one of them.
#pragma once

#include <sched.h>
#include <span>
#include <string_view>
#include <vector>

#include "lab/child.h"

namespace infold::lab {

// In rising order. At least one.
std::vector<int> own_cores();

// The same processors in another order: the first hardware thread of each core, then the second
// ones. So as few processes as there are cores share none.
std::vector<int> spread_cores();

// The position of a processor among the hardware threads of its core, from the kernel's list of
// them, such as "0,8" or "0-1". Returns 0 for a list without that processor.
std::size_t thread_of_core(std::string_view siblings, int processor);

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
