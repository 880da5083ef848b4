// SPDX-License-Identifier: Apache-2.0
//
// The functions that each vector file provides for the instruction set that Highway has chosen.
// kernel_sets.cc chooses each supported set in turn, and keeps the functions.
#pragma once

#include "core/aggregator/arithmetic.h"
#include "numeric/codec.h"

namespace infold::numeric {

const core::Arithmetic& chosen_arithmetic();
BlockCodecLookup chosen_block_lookup();
// Does the same with f16 arithmetic. Returns null if the compiler or the processor does not have
// it.
BlockCodecLookup chosen_half_lookup();

FindPresence chosen_presence();
const DigitLoops* chosen_digits();
const CodeLoops* chosen_codes();

}  // namespace infold::numeric
