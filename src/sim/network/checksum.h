// SPDX-License-Identifier: Apache-2.0
//
// The UDP checksum's ones' complement sum, and the hash that fingerprints a run. The sum covers the
// datagram's payload. The pseudo-header is the same at both ends, so leaving it out changes
// nothing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace infold::sim {

// The sum of RFC 768 over these bytes. Any burst of damage of up to 15 bits changes the sum. Such a
// burst alters the sum of two neighbouring 16-bit words by less than 2^16 - 1 and not by 0. A test
// covers all such bursts.
std::uint16_t udp_checksum(std::span<const std::byte> bytes);

// A 64-bit fingerprint, chained onto `seed`. Not cryptographic.
std::uint64_t hash_bytes(std::span<const std::byte> bytes, std::uint64_t seed);

}  // namespace infold::sim
