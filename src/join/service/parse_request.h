// SPDX-License-Identifier: Apache-2.0
//
// The edge: a rank's messages become the values that registrars take, or a refusal that names the
// field. A value from here keeps every limit that is checked further on, so that no CHECK depends
// on a rank.
#pragma once

#include <string>

#include "join/registrar.h"
#include "proto/infold/v1/control.pb.h"

namespace infold::join {

// Bytes of the longest message that a rank of ours sends, twice: names and addresses are short.
inline constexpr int kRequestBytesMax = 4096;

// `address`: as in Hello. `from`: where the connection comes from; unset: not known.
Answer<Hello> parse_hello(const v1::Hello& message, std::string address,
                          const io::SocketAddress& from = {});
Answer<ReadyReport> parse_ready(const v1::Ready& ready);
// If it is refused, the rank counts as lost.
Answer<Parting> parse_leave(const v1::Leave& leave);
Answer<TransferNote> parse_transfer(const v1::Transfer& transfer);

}  // namespace infold::join
