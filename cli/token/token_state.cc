// SPDX-License-Identifier: Apache-2.0
#include "cli/token/token_state.h"

#include <charconv>
#include <system_error>

#include <fmt/chrono.h>
#include <fmt/format.h>

#include "cli/switch/key_options.h"
#include "keys/token/join_string.h"

namespace infold::cli {

void TokenState::declare(Options& options) {
  options.path("--state", state_, kStateHelp, "DIRECTORY");
}

keys::Stated<keys::StateDirectory> TokenState::open() const {
  const keys::Stated<std::string> path = state_path(state_);
  if (!path) return tl::unexpected("--state: " + path.error());
  keys::Stated<keys::StateDirectory> state = keys::StateDirectory::open_existing(*path);
  if (!state) return tl::unexpected("--state: " + state.error());
  return state;
}

void JoinPlace::declare(Options& options) {
  options.address("--at", typed_, at_,
                  "Where the switch lets ranks join, HOST:PORT; without it the string begins "
                  "with '#', and HOST:PORT belongs before that");
}

std::string JoinPlace::join_string(const keys::Fingerprint& fingerprint,
                                   const std::string& token) const {
  return keys::text_of(keys::JoinString{typed_, fingerprint, token});
}

ExitCode token_failed(Output& output, std::string_view command, const std::string& why) {
  output.log("infold {}: {}\n", command, why);
  return ExitCode::kFailed;
}

std::string time_text(std::int64_t not_after) {
  constexpr std::int64_t kLast = 253'402'300'799;  // the year 9999 ends with it
  if (not_after > kLast) return "never";
  return fmt::format("{:%Y-%m-%d %H:%M:%S} UTC", fmt::gmtime(static_cast<std::time_t>(not_after)));
}

std::optional<std::int64_t> parse_ttl(std::string_view typed) {
  constexpr std::int64_t kMost = std::int64_t{100} * 366 * 86'400;
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(typed.data(), typed.data() + typed.size(), number);
  if (error != std::errc{} || number <= 0 || number > kMost) return std::nullopt;
  const std::string_view unit(end, static_cast<std::size_t>(typed.data() + typed.size() - end));
  const std::int64_t seconds = unit == "s"   ? 1
                               : unit == "m" ? 60
                               : unit == "h" ? 3'600
                               : unit == "d" ? 86'400
                                             : 0;
  if (seconds == 0 || number > kMost / seconds) return std::nullopt;
  return number * seconds;
}

}  // namespace infold::cli
