// SPDX-License-Identifier: Apache-2.0
//
// Runs the steps of a vector that are about numbers alone: encode, decode, agree, chunk, and those
// of digits_runner.h.
#pragma once

#include "tests/conformance/text/vector_file.h"

namespace infold::conformance {

// Whether this kind of step is run here.
bool is_number_step(const Step& step);
// Throws VectorError on the first difference.
void run_number_step(const Step& step);

}  // namespace infold::conformance
