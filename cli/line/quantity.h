// SPDX-License-Identifier: Apache-2.0
//
// Rates and sizes as people type them: "10G" or "100mbit", "25MB", "4KiB" or "8M". Upper and lower
// case mean the same, but Bps are bytes per second, so they are refused. tools/lab/quantity.py
// reads the same texts.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace infold::cli {

// Returns bits per second. K, M, G or T, alone or before bit, bit/s or bps, always mean powers of
// 1000.
std::optional<double> parse_rate(std::string_view typed);

// Returns whole bytes. The text is a plain number, or a number with a unit. B is one byte. KB, MB,
// GB and TB are powers of 1000; KiB, MiB, GiB and TiB are powers of 1024. K, M, G and T alone are
// powers of 1024 as well, as in nccl-tests and dd, and so are Ki, Mi, Gi and Ti.
std::optional<std::uint64_t> parse_bytes(std::string_view typed);

// Returns the end of a message about a text that is not a rate: how to write it if it is a number
// of bytes per second. Otherwise it is empty.
std::string hint_of_rate(const std::string& typed);

// These sentences end the help of each command that takes sizes or rates.
inline constexpr std::string_view kSizesSentence =
    "Sizes: MB is 1000 x 1000 bytes; MiB and M are 1024 x 1024, as in nccl-tests.";
inline constexpr std::string_view kRatesSentence =
    "Rates: G, Gbit and gbps mean 1000 x 1000 x 1000 bits per second.";

// Returns the shortest text that the functions above read as the same number: "10G", "25MB".
std::string short_rate(double bits_per_second);
std::string short_bytes(std::uint64_t bytes);

// "1 rank", "4 ranks". Requires: a noun whose plural ends in s.
std::string counted(std::uint64_t count, std::string_view noun);

}  // namespace infold::cli
