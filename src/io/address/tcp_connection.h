// SPDX-License-Identifier: Apache-2.0
//
// A TCP connection to a host that may not listen yet: tried again, often, until a deadline.
#pragma once

#include <cstdint>
#include <stop_token>

#include "base/instant.h"
#include "base/result.h"
#include "io/address/socket_address.h"
#include "io/host/file_descriptor.h"

namespace infold::io {

// Fails with deadline_exceeded, or with cancelled when `stop` is requested. The socket does not
// block, and sends what it is given at once.
base::Result<FileDescriptor> connect_tcp(const SocketAddress& there, base::Instant deadline,
                                         const std::stop_token& stop = {});

// Where a connection comes from, on this host.
SocketAddress local_address_of(int connected_socket);

// Bytes that have come over a connection; 0 where the system does not count them.
std::uint64_t received_bytes_of(int connected_socket);

}  // namespace infold::io
