// SPDX-License-Identifier: Apache-2.0
//
// The Python class of a Compressor, and methods that are written in Python. States are plain lists
// here; infold.compress turns them into a state_dict.
#pragma once

#include <pybind11/pybind11.h>

namespace infold::pytorch {

// Adds the class Compressor and add_method() to the extension module.
void bind_compressor(pybind11::module_& module);

}  // namespace infold::pytorch
