// SPDX-License-Identifier: Apache-2.0
//
// Starts the threads of drivers. Each has a name for debuggers and blocks all signals, so that the
// signal handlers of the host program run on that program's own threads.
#pragma once

#include <functional>
#include <thread>

namespace infold::site {

// Throws std::system_error if the system cannot start a thread.
std::thread start_driver_thread(const char* name, std::function<void()> body);

}  // namespace infold::site
