// SPDX-License-Identifier: Apache-2.0
//
// What a byte of a ring over TCP costs a rank's processor. Each byte is sent and received, and the
// half of them that are contributions are added. Two threads of this process are the ranks.
#pragma once

namespace infold::measure {

// Returns the seconds of one processor per byte that a rank sends and receives. Takes less than a
// second. Throws std::runtime_error if loopback does not have TCP.
double ring_byte_s();

}  // namespace infold::measure
