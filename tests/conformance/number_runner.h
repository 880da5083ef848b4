// SPDX-License-Identifier: Apache-2.0
//
// Runs the steps of a vector that are only about numbers: encode, decode, agree, chunk, and the
// steps of digits_runner.h.
#pragma once

#include "tests/conformance/text/vector_file.h"

namespace infold::conformance {

// Whether this runner runs the step.
bool is_number_step(const Step& step);
// Throws VectorError on the first difference.
void run_number_step(const Step& step);

}  // namespace infold::conformance
