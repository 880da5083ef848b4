// SPDX-License-Identifier: Apache-2.0
//
// The edge of the process: turns a rank's messages into the values that registrars take, or into a
// refusal that names the field. A value from here keeps every limit that later code checks, so that
// no CHECK depends on a rank.
#pragma once

#include <string>

#include "join/registrar.h"
#include "proto/infold/v1/control.pb.h"

namespace infold::join {

// Twice the length of the longest message that a rank of ours sends, because names and addresses
// are short.
inline constexpr int kRequestBytesMax = 4096;

// `address` is Hello::address. `from` is where the connection comes from; unset: unknown.
Answer<Hello> parse_hello(const v1::Hello& message, std::string address,
                          const io::SocketAddress& from = {});
Answer<ReadyReport> parse_ready(const v1::Ready& ready);
// If the message is refused, the rank counts as lost.
Answer<Parting> parse_leave(const v1::Leave& leave);
Answer<TransferNote> parse_transfer(const v1::Transfer& transfer);

}  // namespace infold::join
