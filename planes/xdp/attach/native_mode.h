// SPDX-License-Identifier: Apache-2.0
//
// Finds out whether a driver runs packet programs itself, without attaching one.
#pragma once

#include <optional>

#include "planes/xdp/attach/interface.h"

namespace infold::xdp {

// Returns nothing if the kernel does not tell; Linux 6.3 and later do. An interface that offers
// native mode may still refuse it if its MTU is too large.
std::optional<bool> offers_native_mode(const Interface& interface);

}  // namespace infold::xdp
