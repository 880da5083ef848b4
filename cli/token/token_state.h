// SPDX-License-Identifier: Apache-2.0
//
// The commands of `infold token` share the state directory of a switch, the place where ranks join
// it, and the words in which they speak of tokens.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "cli/line/command.h"
#include "cli/line/options.h"
#include "cli/line/output.h"
#include "keys/certificate.h"
#include "keys/state/state_directory.h"
#include "keys/state/token_book.h"

namespace infold::cli {

class TokenState {
 public:
  void declare(Options& options);
  // An error is a sentence that names the option.
  keys::Stated<keys::StateDirectory> open() const;

 private:
  std::string state_;
};

// Where the switch lets ranks join (--at).
class JoinPlace {
 public:
  void declare(Options& options);
  // Without a place, the string begins with '#', and the user puts the switch's HOST:PORT before
  // it.
  std::string join_string(const keys::Fingerprint& fingerprint, const std::string& token) const;

 private:
  std::string typed_;
  io::SocketAddress at_;
};

// Prints an error of the command with this name.
ExitCode token_failed(Output& output, std::string_view command, const std::string& why);

// Says how running switches learn of a change.
inline constexpr std::string_view kReloadHint =
    "running switches hear of it with SIGHUP (systemctl reload infold-switch)";

// Returns "2027-01-15 08:00:00 UTC", or "never".
std::string time_text(std::int64_t not_after);
// Returns seconds: "90s", "30m", "8h" or "7d", a whole number of one unit. `none` has no end.
std::optional<std::int64_t> parse_ttl(std::string_view typed);

}  // namespace infold::cli
