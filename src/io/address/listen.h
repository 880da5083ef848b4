// SPDX-License-Identifier: Apache-2.0
//
// Binds a socket to an address of this host. If that fails, UDP and TCP explain the reason in the
// same words. Any thread may call.
#pragma once

#include "base/result.h"
#include "io/address/socket_address.h"
#include "io/host/file_descriptor.h"

namespace infold::io {

// Explains an errno of bind() to a person.
const char* bind_problem(int reason);

// Opens a TCP socket that listens. At most `backlog` connections wait to be accepted. At the
// address
// `[::]` it takes connections over IPv4 as well. `where` names the caller in an error.
base::Result<FileDescriptor> listen_at(const SocketAddress& address, const char* where,
                                       int backlog = 16);

}  // namespace infold::io
