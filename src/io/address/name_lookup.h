// SPDX-License-Identifier: Apache-2.0
//
// Looks up a host name within a deadline. The system's look-up has no deadline and cannot be
// cancelled, so it runs on a thread of its own, which outlives a caller that stops waiting.
#pragma once

#include <stop_token>
#include <string>
#include <string_view>

#include "base/instant.h"
#include "base/result.h"
#include "io/address/socket_address.h"

namespace infold::io {

using NameReader = base::Result<SocketAddress> (*)(std::string_view text, const char* what);

// Like SocketAddress::parse(), but returns at once for a numeric address. Fails with
// deadline_exceeded, or with cancelled when `stop` is requested. `what` must be static text.
base::Result<SocketAddress> look_up(const std::string& text, const char* what,
                                    base::Instant deadline, const std::stop_token& stop = {},
                                    NameReader reader = &SocketAddress::parse);

}  // namespace infold::io
