// SPDX-License-Identifier: Apache-2.0
#include "io/descriptors.h"

#include <algorithm>
#include <sys/resource.h>

namespace infold::io {

std::size_t descriptor_limit() {
  rlimit limit = {};
  return getrlimit(RLIMIT_NOFILE, &limit) == 0 ? limit.rlim_cur : 0;
}

std::size_t raise_descriptor_limit(std::size_t wanted) {
  rlimit limit = {};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return 0;
  const rlim_t most = std::min<rlim_t>(limit.rlim_max, wanted);
  if (most > limit.rlim_cur) {
    limit.rlim_cur = most;
    setrlimit(RLIMIT_NOFILE, &limit);
  }
  return descriptor_limit();
}

}  // namespace infold::io
