// SPDX-License-Identifier: Apache-2.0
//
// The recorder's functions for Python. Their names and types are in python/infold/_c.pyi.
#pragma once

#include <pybind11/pybind11.h>

namespace infold::pytorch {

void bind_recorder(pybind11::module_& module);

}  // namespace infold::pytorch
