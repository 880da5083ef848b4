// SPDX-License-Identifier: Apache-2.0
//
// Compression methods that are written in Python. Their codes are lists of tensors, which each rank
// gathers from all ranks.
#pragma once

#include <string>

#include <pybind11/pybind11.h>

namespace infold::pytorch {

// `settings` has the usual values; values that are ints stay whole numbers. `make` is called with
// the sides of a parameter and the values of the settings. Throws if the name is taken or the bias
// is unknown.
void add_python_method(const std::string& name, const std::string& bias,
                       const pybind11::dict& settings, pybind11::object make);

}  // namespace infold::pytorch
