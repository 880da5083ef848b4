// SPDX-License-Identifier: Apache-2.0
//
// How this process uses OpenSSL. It reads no configuration file of the host, so that the host's
// settings change neither what a join connection accepts nor whether it works. It also registers
// nothing that runs when the process ends or forks, because other threads may still use it then.
#pragma once

#include <cstddef>
#include <string>

namespace infold::keys {

// Call this before anything else of OpenSSL. Returns false if OpenSSL cannot be used. Any thread
// may call, as often as it likes.
bool start_openssl();

// Drops the errors that OpenSSL keeps for this thread. Their texts are never shown: each failure
// has a sentence of our own.
void forget_openssl_errors();

// Returns the version of the library in use, such as "3.0.19".
std::string openssl_version();

}  // namespace infold::keys
