// SPDX-License-Identifier: Apache-2.0
#include "lab/host/cores.h"

#include <algorithm>

#include <fmt/format.h>

namespace infold::lab {

std::vector<int> own_cores() {
  std::vector<int> cores;
  cpu_set_t allowed;
  CPU_ZERO(&allowed);
  // Fails on machines with more cores than the set holds.
  if (sched_getaffinity(0, sizeof(allowed), &allowed) != 0) return {0};
  for (int core = 0; core < CPU_SETSIZE; ++core) {
    if (CPU_ISSET(static_cast<std::size_t>(core), &allowed)) cores.push_back(core);
  }
  return cores;
}

StaysOnCore::StaysOnCore(int core) {
  CPU_ZERO(&before_);
  sched_getaffinity(0, sizeof(before_), &before_);
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(static_cast<std::size_t>(core), &one);
  sched_setaffinity(0, sizeof(one), &one);
}

StaysOnCore::~StaysOnCore() { sched_setaffinity(0, sizeof(before_), &before_); }

Words on_cores(std::span<const int> cores, const Words& words) {
  Words all = {"taskset", "--cpu-list", fmt::format("{}", fmt::join(cores, ","))};
  all.insert(all.end(), words.begin(), words.end());
  return all;
}

}  // namespace infold::lab
