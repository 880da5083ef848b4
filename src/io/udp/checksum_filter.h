// SPDX-License-Identifier: Apache-2.0
//
// Datagrams without a UDP checksum, which IPv4 allows, are not for us: a socket shows no
// difference, but the kernel can drop them before it.
#pragma once

namespace infold::io {

// Returns whether the kernel does so from now on.
bool drop_datagrams_without_checksum(int socket);

}  // namespace infold::io
