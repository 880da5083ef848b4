// SPDX-License-Identifier: Apache-2.0
//
// What packet programs need of the kernel and of this process, asked before anything is changed.
#pragma once

#include "xdp/attempt.h"

namespace infold::xdp {

// The error is one sentence, which names every capability that is missing.
Attempt<void> check_host();

}  // namespace infold::xdp
