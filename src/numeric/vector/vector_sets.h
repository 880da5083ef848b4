// SPDX-License-Identifier: Apache-2.0
//
// What each vector file gives for the instruction set that Highway has chosen. kernel_sets.cc
// chooses each supported one in turn and keeps the answers.
#pragma once

#include "core/aggregator/arithmetic.h"
#include "numeric/codec.h"

namespace infold::numeric {

const core::Arithmetic& chosen_arithmetic();
BlockCodecLookup chosen_block_lookup();
// The same with arithmetic of f16 itself; null where the compiler or the processor has none.
BlockCodecLookup chosen_half_lookup();

FindPresence chosen_presence();

}  // namespace infold::numeric
