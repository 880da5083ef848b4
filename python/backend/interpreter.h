// SPDX-License-Identifier: Apache-2.0
//
// For what waits for threads, or ends what does: these may need the interpreter, for a callback or
// for a tensor that Python knows.
#pragma once

#include <memory>

#include <pybind11/pybind11.h>

namespace infold::pytorch {

using Released = std::unique_ptr<pybind11::gil_scoped_release>;

// Lets go of the interpreter if this thread holds it, for as long as the answer lives.
inline Released release_interpreter() {
  const bool holds = Py_IsInitialized() != 0 && PyGILState_Check() != 0;
  return holds ? std::make_unique<pybind11::gil_scoped_release>() : nullptr;
}

}  // namespace infold::pytorch
