// SPDX-License-Identifier: Apache-2.0
//
// Connects over TCP to a host that may not be listening yet, by trying again until a deadline.
#pragma once

#include <cstdint>
#include <stop_token>

#include "base/instant.h"
#include "base/result.h"
#include "io/address/socket_address.h"
#include "io/host/file_descriptor.h"

namespace infold::io {

// Fails with deadline_exceeded, or with cancelled when `stop` is requested. The socket is
// non-blocking and has TCP_NODELAY.
base::Result<FileDescriptor> connect_tcp(const SocketAddress& there, base::Instant deadline,
                                         const std::stop_token& stop = {});

// Begins to connect and does not wait. The socket becomes writable when the attempt is over, and
// has_connected() then says whether it succeeded. Without a descriptor or a route, the socket that
// is returned is not open.
FileDescriptor start_to_connect(const SocketAddress& there);
bool has_connected(int socket);

// The local address of a connection.
SocketAddress local_address_of(int connected_socket);

}  // namespace infold::io
