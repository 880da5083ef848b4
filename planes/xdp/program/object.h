// SPDX-License-Identifier: Apache-2.0
//
// The compiled packet program, which is part of the binary.
#pragma once

#include <cstddef>
#include <span>

namespace infold::xdp {

std::span<const std::byte> object_bytes();

}  // namespace infold::xdp
