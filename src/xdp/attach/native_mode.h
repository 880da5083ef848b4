// SPDX-License-Identifier: Apache-2.0
//
// Whether a driver runs packet programs itself, asked without attaching one.
#pragma once

#include <optional>

#include "xdp/attach/interface.h"

namespace infold::xdp {

// Nothing where the kernel does not tell, which it does since 6.3. An interface that offers it may
// still refuse it, for an MTU that is too large.
std::optional<bool> offers_native_mode(const Interface& interface);

}  // namespace infold::xdp
