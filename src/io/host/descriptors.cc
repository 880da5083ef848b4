// SPDX-License-Identifier: Apache-2.0
#include "io/host/descriptors.h"

#include <algorithm>
#include <sys/resource.h>

namespace infold::io {

DescriptorLimits descriptor_limits() {
  rlimit limit = {};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return {};
  return {limit.rlim_cur, limit.rlim_max};
}

std::size_t raised_descriptor_limit(DescriptorLimits limits, std::size_t wanted) {
  return std::max(limits.now, std::min(limits.most, wanted));
}

std::size_t raise_descriptor_limit(std::size_t wanted) {
  const DescriptorLimits limits = descriptor_limits();
  const rlim_t raised = raised_descriptor_limit(limits, wanted);
  if (raised > limits.now) {
    const rlimit limit = {raised, limits.most};
    setrlimit(RLIMIT_NOFILE, &limit);
  }
  return descriptor_limits().now;
}

}  // namespace infold::io
