// SPDX-License-Identifier: Apache-2.0
//
// How drivers start their threads: named for debuggers, and with all signals blocked, so that the
// host program's handlers run on the host program's threads.
#pragma once

#include <functional>
#include <thread>

namespace infold::site {

// Throws std::system_error when no thread can be had.
std::thread start_driver_thread(const char* name, std::function<void()> body);

}  // namespace infold::site
