// SPDX-License-Identifier: Apache-2.0
//
// Rates and sizes as people type them: "10G" or "100mbit", "25MB" or "4KiB". Units of a thousand
// unless there is an i in them; upper and lower case are alike.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace infold::cli {

// In bits per second. K, M, G or T, alone or before bit, bit/s or bps.
std::optional<double> parse_rate(std::string_view typed);

// B, KB, MB, GB, TB, KiB, MiB, GiB or TiB, with or without the B, or a plain number of bytes. Whole
// bytes only.
std::optional<std::uint64_t> parse_bytes(std::string_view typed);

// The shortest text that the functions above read back as the same number: "10G", "25MB".
std::string short_rate(double bits_per_second);
std::string short_bytes(std::uint64_t bytes);

}  // namespace infold::cli
