// SPDX-License-Identifier: Apache-2.0
//
// Reads a number and then one unit from a list.
#include "cli/line/quantity.h"

#include <charconv>
#include <cmath>
#include <system_error>

#include <fmt/format.h>

namespace infold::cli {
namespace {

struct Quantity {
  double number = 0;
  std::string unit;  // in lower case
};

std::optional<Quantity> split(std::string_view typed) {
  Quantity quantity;
  const char* end = typed.data() + typed.size();
  // Rejects signs, infinities and exponents, because some readers would take 1e9 as 1 with an
  // unknown unit.
  const auto [stop, error] =
      std::from_chars(typed.data(), end, quantity.number, std::chars_format::fixed);
  if (error != std::errc{} || !std::isfinite(quantity.number) || quantity.number < 0) {
    return std::nullopt;
  }
  for (const char* letter = stop; letter != end; ++letter) {
    const bool upper = *letter >= 'A' && *letter <= 'Z';
    quantity.unit += static_cast<char>(upper ? *letter - 'A' + 'a' : *letter);
  }
  return quantity;
}

struct Prefix {
  char letter;
  double thousands;
  double binary;
};

constexpr Prefix kPrefixes[] = {
    {'k', 1e3, 0x1p10}, {'m', 1e6, 0x1p20}, {'g', 1e9, 0x1p30}, {'t', 1e12, 0x1p40}};

// Writes 1e10 as "10G", with the largest prefix that leaves at most three decimals.
std::string shortest(double value, double Prefix::* power, std::string_view unit) {
  for (std::size_t i = std::size(kPrefixes); i-- > 0;) {
    const double scaled = value / kPrefixes[i].*power;
    if (scaled < 1 || std::round(scaled * 1e3) / 1e3 != scaled) continue;
    const char letter = static_cast<char>(kPrefixes[i].letter - 'a' + 'A');
    return fmt::format("{}{}{}", scaled, letter, unit);
  }
  return fmt::format("{}{}", value, unit);
}

}  // namespace

std::optional<double> parse_rate(std::string_view typed) {
  const auto quantity = split(typed);
  if (!quantity) return std::nullopt;
  std::string_view unit = quantity->unit;
  double factor = 1;
  for (const Prefix& prefix : kPrefixes) {
    if (!unit.starts_with(prefix.letter)) continue;
    factor = prefix.thousands;
    unit.remove_prefix(1);
    break;
  }
  if (unit != "" && unit != "bit" && unit != "bit/s" && unit != "bps") return std::nullopt;
  if (typed.ends_with("Bps")) return std::nullopt;  // bytes per second
  return quantity->number * factor;
}

std::optional<std::uint64_t> parse_bytes(std::string_view typed) {
  const auto quantity = split(typed);
  if (!quantity) return std::nullopt;
  double factor = quantity->unit.empty() || quantity->unit == "b" ? 1 : 0;
  for (const Prefix& prefix : kPrefixes) {
    const std::string letter{prefix.letter};
    const std::string& unit = quantity->unit;
    if (unit == letter + "b") factor = prefix.thousands;
    if (unit == letter || unit == letter + "i" || unit == letter + "ib") factor = prefix.binary;
  }
  const double bytes = quantity->number * factor;
  // Above 2^53 a double cannot hold every number of bytes, and no tensor is that large.
  if (factor == 0 || bytes > 0x1p53 || bytes != std::floor(bytes)) return std::nullopt;
  return static_cast<std::uint64_t>(bytes);
}

std::string hint_of_rate(const std::string& typed) {
  std::string_view size = typed;
  if (size.ends_with("/s") || size.ends_with("ps")) size.remove_suffix(2);
  const auto bytes = size.ends_with('B') ? parse_bytes(size) : std::nullopt;
  if (!bytes) return "";
  return fmt::format("; rates are in bits: {} is {}bit", typed,
                     short_rate(static_cast<double>(*bytes) * 8));
}

std::string short_rate(double bits_per_second) {
  return shortest(bits_per_second, &Prefix::thousands, "");
}

std::string short_bytes(std::uint64_t bytes) {
  const auto value = static_cast<double>(bytes);
  const std::string plain = fmt::format("{}B", bytes);
  const std::string decimal = shortest(value, &Prefix::thousands, "B");
  const std::string binary = shortest(value, &Prefix::binary, "iB");
  const std::string& best = decimal.size() <= plain.size() ? decimal : plain;
  return binary.size() < best.size() ? binary : best;
}

std::string counted(std::uint64_t count, std::string_view noun) {
  return fmt::format("{} {}{}", count, noun, count == 1 ? "" : "s");
}

}  // namespace infold::cli
