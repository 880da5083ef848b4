// SPDX-License-Identifier: Apache-2.0
#include "study/measure/host/cores.h"

#include <algorithm>
#include <charconv>
#include <string>

#include <fmt/format.h>

namespace infold::measure {

std::vector<int> own_cores() {
  std::vector<int> cores;
  cpu_set_t allowed;
  CPU_ZERO(&allowed);
  // This call fails on machines with more cores than the set can hold.
  if (sched_getaffinity(0, sizeof(allowed), &allowed) != 0) return {0};
  for (int core = 0; core < CPU_SETSIZE; ++core) {
    if (CPU_ISSET(static_cast<std::size_t>(core), &allowed)) cores.push_back(core);
  }
  return cores;
}

std::size_t thread_of_core(std::string_view siblings, int processor) {
  std::size_t position = 0;
  while (!siblings.empty()) {
    const std::string_view part = siblings.substr(0, siblings.find(','));
    siblings.remove_prefix(std::min(part.size() + 1, siblings.size()));
    int first = 0;
    int last = 0;
    const char* const end = part.data() + part.size();
    const char* const after = std::from_chars(part.data(), end, first).ptr;
    last = first;
    if (after != end && *after == '-') std::from_chars(after + 1, end, last);
    if (processor >= first && processor <= last) {
      return position + static_cast<std::size_t>(processor - first);
    }
    position += static_cast<std::size_t>(std::max(last - first, 0)) + 1;
  }
  return 0;
}

std::vector<int> spread_cores() {
  std::vector<int> cores = own_cores();
  std::ranges::stable_sort(cores, {}, [](int core) {
    const std::string siblings = desk::trimmed(desk::read_file(
        fmt::format("/sys/devices/system/cpu/cpu{}/topology/thread_siblings_list", core)));
    return thread_of_core(siblings, core);
  });
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

desk::Words on_cores(std::span<const int> cores, const desk::Words& words) {
  desk::Words all = {"taskset", "--cpu-list", fmt::format("{}", fmt::join(cores, ","))};
  all.insert(all.end(), words.begin(), words.end());
  return all;
}

}  // namespace infold::measure
