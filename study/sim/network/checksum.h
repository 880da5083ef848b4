// SPDX-License-Identifier: Apache-2.0
//
// The ones' complement sum of the UDP checksum, and the hash that fingerprints a run. The sum
// covers the datagram's payload. The pseudo-header is the same at both ends, so leaving it out
// changes nothing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace infold::sim {

// Returns the sum of RFC 768 over these bytes. Any burst of damage of up to 15 bits changes the
// sum, because it alters the sum of two neighbouring 16-bit words by less than 2^16 - 1 and not by
// 0. A test covers all such bursts.
std::uint16_t udp_checksum(std::span<const std::byte> bytes);

// Returns a 64-bit fingerprint, chained onto `seed`. It is not cryptographic.
std::uint64_t hash_bytes(std::span<const std::byte> bytes, std::uint64_t seed);

}  // namespace infold::sim
