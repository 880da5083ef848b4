// SPDX-License-Identifier: Apache-2.0
//
// How many files the process may have open.
#pragma once

#include <cstddef>

namespace infold::io {

std::size_t descriptor_limit();
// To what the system allows this process without asking, at most `wanted`; what it is then. For
// daemons: a program that uses select() must not have descriptors beyond 1023.
std::size_t raise_descriptor_limit(std::size_t wanted);

}  // namespace infold::io
