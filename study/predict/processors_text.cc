// SPDX-License-Identifier: Apache-2.0
#include "study/predict/processors_text.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstddef>
#include <iterator>
#include <system_error>

#include <fmt/format.h>

namespace infold::predict {
namespace {

constexpr double kNanosecond_s = 1e-9;
// Longer times for a packet, or for an element or a byte, cannot be costs of processors.
constexpr double kPacketMost_ns = 1e6;
constexpr double kElementMost_ns = 1e4;

struct Cost {
  std::string_view name;
  double most_ns;
  double& (*place)(Processors& processors);
};

constexpr Cost kCosts[] = {
    {"rank_packet_ns", kPacketMost_ns,
     [](Processors& all) -> double& { return all.rank.packet_s; }},
    {"rank_element_ns", kElementMost_ns,
     [](Processors& all) -> double& { return all.rank.element_s; }},
    {"site_packet_ns", kPacketMost_ns,
     [](Processors& all) -> double& { return all.site.packet_s; }},
    {"site_element_ns", kElementMost_ns,
     [](Processors& all) -> double& { return all.site.element_s; }},
    {"own_packet_ns", kPacketMost_ns, [](Processors& all) -> double& { return all.own.packet_s; }},
    {"own_element_ns", kElementMost_ns,
     [](Processors& all) -> double& { return all.own.element_s; }},
    {"ring_byte_ns", kElementMost_ns, [](Processors& all) -> double& { return all.ring_byte_s; }},
};

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view kSpaces = " \t\r";
  text.remove_prefix(std::min(text.find_first_not_of(kSpaces), text.size()));
  text.remove_suffix(text.size() - std::min(text.find_last_not_of(kSpaces) + 1, text.size()));
  return text;
}

// Removes the text up to a separator from the front, and returns it.
std::string_view take(std::string_view& text, char separator) {
  const std::size_t end = std::min(text.find(separator), text.size());
  const std::string_view taken = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  return taken;
}

// Returns the text as a message shows it: short, and safe for a terminal.
std::string shown(std::string_view text) {
  constexpr std::size_t kMost = 40;
  std::string shown(text.substr(0, kMost));
  std::replace_if(
      shown.begin(), shown.end(), [](char each) { return each < ' ' || each > '~'; }, '?');
  return shown + (text.size() > kMost ? "..." : "");
}

// Returns the error in words, or an empty text if the line is right. Requires: a line that is not
// empty and has no comment.
std::string read_line(std::string_view line, Processors& processors,
                      std::array<bool, std::size(kCosts)>& given) {
  std::string_view value = line;
  const std::string_view name = trimmed(take(value, '='));
  value = trimmed(value);
  const auto* const cost = std::find_if(std::begin(kCosts), std::end(kCosts),
                                        [&](const Cost& each) { return each.name == name; });
  if (cost == std::end(kCosts)) return fmt::format("there is no cost '{}'", shown(name));
  bool& is_given = given[static_cast<std::size_t>(cost - std::begin(kCosts))];
  if (is_given) return fmt::format("a second {}", name);
  is_given = true;
  double nanoseconds = 0;
  const char* const end = value.data() + value.size();
  const auto [stopped, error] =
      std::from_chars(value.data(), end, nanoseconds, std::chars_format::fixed);
  // NaN makes every comparison false.
  if (error != std::errc() || stopped != end || !(nanoseconds >= 0) ||
      nanoseconds > cost->most_ns) {
    return fmt::format("{} is a number from 0 to {}, not '{}'", name, cost->most_ns, shown(value));
  }
  cost->place(processors) = nanoseconds * kNanosecond_s;
  return "";
}

}  // namespace

std::string write_processors(const Processors& processors, std::string_view origin) {
  std::string text = fmt::format("# Costs of processors for infold plan: {}\n", origin);
  Processors copy = processors;
  for (const Cost& cost : kCosts) {
    text += fmt::format("{} = {:.3f}\n", cost.name, cost.place(copy) / kNanosecond_s);
  }
  return text;
}

tl::expected<Processors, std::string> read_processors(std::string_view text) {
  Processors processors;
  std::array<bool, std::size(kCosts)> given{};
  for (int number = 1; !text.empty(); ++number) {
    std::string_view rest = take(text, '\n');
    const std::string_view line = trimmed(take(rest, '#'));
    if (line.empty()) continue;
    const std::string wrong = read_line(line, processors, given);
    if (!wrong.empty()) return tl::unexpected(fmt::format("line {}: {}", number, wrong));
  }
  for (std::size_t i = 0; i < given.size(); ++i) {
    if (!given[i]) return tl::unexpected(fmt::format("{} is missing", kCosts[i].name));
  }
  return processors;
}

}  // namespace infold::predict
