// SPDX-License-Identifier: Apache-2.0
//
// Releases Python's interpreter lock before waiting for threads, because these threads may need the
// interpreter for a callback or for a tensor that Python also owns.
#pragma once

#include <memory>

#include <pybind11/pybind11.h>

namespace infold::pytorch {

using Released = std::unique_ptr<pybind11::gil_scoped_release>;

// Releases the lock if this thread holds it, until the returned object is destroyed.
inline Released release_interpreter() {
  const bool holds = Py_IsInitialized() != 0 && PyGILState_Check() != 0;
  return holds ? std::make_unique<pybind11::gil_scoped_release>() : nullptr;
}

}  // namespace infold::pytorch
