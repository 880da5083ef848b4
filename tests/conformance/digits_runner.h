// SPDX-License-Identifier: Apache-2.0
//
// Runs the steps of a vector that are about digits: range, digits, undigits.
#pragma once

#include "tests/conformance/text/vector_file.h"

namespace infold::conformance {

// Whether this runner runs the step.
bool is_digits_step(const Step& step);
// Throws VectorError on the first difference.
void run_digits_step(const Step& step);

}  // namespace infold::conformance
