// SPDX-License-Identifier: Apache-2.0
//
// infold rejects datagrams without a UDP checksum, although IPv4 permits them. A program
// cannot see at its socket which datagrams lack one, so a filter in the kernel drops them.
#pragma once

namespace infold::io {

// Returns whether the kernel has installed the filter.
bool drop_datagrams_without_checksum(int socket);

}  // namespace infold::io
