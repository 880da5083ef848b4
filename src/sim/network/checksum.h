// SPDX-License-Identifier: Apache-2.0
//
// The UDP checksum's ones' complement sum, and the hash that fingerprints a run. The sum here
// covers the datagram's payload; the pseudo-header is the same at both ends and would cancel.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace infold::sim {

// RFC 768 over these bytes. Any burst of damage of up to 15 bits changes it: such a burst alters
// the sum of two neighbouring 16-bit words by less than 2^16 - 1 and not by 0 (tested for all).
std::uint16_t udp_checksum(std::span<const std::byte> bytes);

// 64-bit fingerprint chained onto `seed`. Not cryptographic.
std::uint64_t hash_bytes(std::span<const std::byte> bytes, std::uint64_t seed);

}  // namespace infold::sim
