// SPDX-License-Identifier: Apache-2.0
//
// What a byte of a ring over TCP costs a rank's processor: sent, received, and added where it is a
// contribution, which half of all bytes are. Two threads of this process are the ranks.
#pragma once

namespace infold::lab {

// Seconds of one processor for each byte that a rank sends and receives. Takes less than a second.
// Throws std::runtime_error where loopback has no TCP.
double ring_byte_s();

}  // namespace infold::lab
