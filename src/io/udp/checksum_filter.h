// SPDX-License-Identifier: Apache-2.0
//
// infold takes no datagrams without a UDP checksum, although IPv4 permits them. A socket
// cannot tell them apart, so a filter in the kernel drops them.
#pragma once

namespace infold::io {

// Returns whether the kernel filters from now on.
bool drop_datagrams_without_checksum(int socket);

}  // namespace infold::io
