// SPDX-License-Identifier: Apache-2.0
//
// Finds the cores that this process may use, and keeps threads and programs on some of them.
#pragma once

#include <sched.h>
#include <span>
#include <string_view>
#include <vector>

#include "study/desk/child.h"

namespace infold::measure {

// Returns at least one core, in rising order.
std::vector<int> own_cores();

// Returns the same processors in another order: first one hardware thread of each core, then the
// second ones. If there are at most as many processes as cores, none of them share a core.
std::vector<int> spread_cores();

// Returns the position of a processor among the hardware threads of its core. `siblings` is the
// kernel's list of them, such as "0,8" or "0-1". Returns 0 if the list does not have that
// processor.
std::size_t thread_of_core(std::string_view siblings, int processor);

// While this lives, the thread that made it runs only on that core. Threads that it starts inherit
// the restriction.
class StaysOnCore {
 public:
  explicit StaysOnCore(int core);
  ~StaysOnCore();
  StaysOnCore(const StaysOnCore&) = delete;
  StaysOnCore& operator=(const StaysOnCore&) = delete;

 private:
  cpu_set_t before_;
};

// Returns the command that runs `words` on these cores only.
desk::Words on_cores(std::span<const int> cores, const desk::Words& words);

}  // namespace infold::measure
