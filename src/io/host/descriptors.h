// SPDX-License-Identifier: Apache-2.0
//
// Reads and raises the number of files that the process may have open.
#pragma once

#include <cstddef>

namespace infold::io {

// The values of RLIMIT_NOFILE. A value with all bits set means that there is no limit.
struct DescriptorLimits {
  std::size_t now = 0;   // the soft limit
  std::size_t most = 0;  // the hard limit, up to which the process may raise the soft one
};

// Both are 0 if the system does not say.
DescriptorLimits descriptor_limits();
// The limit that raise_descriptor_limit() would set.
std::size_t raised_descriptor_limit(DescriptorLimits limits, std::size_t wanted);
// Raises the soft limit to `wanted`, or to the hard limit if that is lower. Returns the new limit.
// Only daemons should call it, because a program that uses select() must not have descriptors above
// 1023.
std::size_t raise_descriptor_limit(std::size_t wanted);

}  // namespace infold::io
