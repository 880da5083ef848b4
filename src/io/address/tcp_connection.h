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

// The local address of a connection.
SocketAddress local_address_of(int connected_socket);

// How many bytes the connection has received. 0 if the system does not count them.
std::uint64_t received_bytes_of(int connected_socket);

}  // namespace infold::io
