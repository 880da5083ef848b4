// SPDX-License-Identifier: Apache-2.0
//
// Taking an address of this host, and why that failed, in the same words for UDP and TCP. Any
// thread.
#pragma once

#include "base/result.h"
#include "io/address/socket_address.h"
#include "io/host/file_descriptor.h"

namespace infold::io {

// What a person must know about bind()'s errno.
const char* bind_problem(int reason);

// A TCP socket that listens. `where` names the part that wants it, in a failure.
base::Result<FileDescriptor> listen_at(const SocketAddress& address, const char* where);

}  // namespace infold::io
