// SPDX-License-Identifier: Apache-2.0
//
// How many files the process may have open.
#pragma once

#include <cstddef>

namespace infold::io {

// RLIMIT_NOFILE. All bits set: no limit.
struct DescriptorLimits {
  std::size_t now = 0;   // the soft limit
  std::size_t most = 0;  // the hard limit, up to which the process may raise the soft one
};

// Zeros where the system does not say.
DescriptorLimits descriptor_limits();
// What raise_descriptor_limit() would leave as the limit.
std::size_t raised_descriptor_limit(DescriptorLimits limits, std::size_t wanted);
// To what the system allows this process without asking, at most `wanted`; what it is then. For
// daemons: a program that uses select() must not have descriptors beyond 1023.
std::size_t raise_descriptor_limit(std::size_t wanted);

}  // namespace infold::io
