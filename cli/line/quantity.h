// SPDX-License-Identifier: Apache-2.0
//
// Rates and sizes as people type them: "10G" or "100mbit", "25MB", "4KiB" or "8M". Upper and lower
// case are alike. tools/lab/quantity.py reads the same texts.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace infold::cli {

// In bits per second. K, M, G or T, alone or before bit, bit/s or bps, always in thousands.
std::optional<double> parse_rate(std::string_view typed);

// A plain number of bytes or B; KB, MB, GB, TB in thousands; KiB, MiB, GiB, TiB in 1024s. K, M, G
// and T alone are 1024s as well, as nccl-tests and dd read them; so are Ki, Mi, Gi and Ti. Whole
// bytes only.
std::optional<std::uint64_t> parse_bytes(std::string_view typed);

// At the end of the help of each command that takes some.
inline constexpr std::string_view kSizesSentence =
    "Sizes: 25MB has 1000s; 25MiB and 25M have 1024s, as in nccl-tests.";
inline constexpr std::string_view kRatesSentence = "Rates: 10G, 10Gbit and 10gbps have 1000s.";

// The shortest text that the functions above read back as the same number: "10G", "25MB".
std::string short_rate(double bits_per_second);
std::string short_bytes(std::uint64_t bytes);

}  // namespace infold::cli
