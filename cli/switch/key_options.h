// SPDX-License-Identifier: Apache-2.0
//
// Whether a switch uses keys, and its keys, the same for all planes. The keys stay in the state
// directory. SIGHUP makes the switch read its secrets and tokens there again. Used by one thread.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "cli/line/options.h"
#include "cli/line/output.h"
#include "io/address/socket_address.h"
#include "join/service/join_server.h"
#include "keys/state/state_directory.h"
#include "keys/state/switch_keys.h"
#include "keys/token/join_string.h"

namespace infold::cli {

class KeyOptions {
 public:
  void declare(Options& options);

  // Reads the keys, and makes them at the first start, if a switch at these addresses uses keys. An
  // error is a sentence that names the option.
  keys::Stated<void> open(const io::SocketAddress& listen, const io::SocketAddress& join_address);
  bool are_used() const { return keys_ != nullptr; }
  // How the switch lets ranks join. Requires: open() has succeeded.
  join::ServerOptions server_options() const;
  // Prints how ranks join, with the string that they need. A journal does not get the string,
  // because more people may read it.
  void announce(Output& output, const io::SocketAddress& join_address) const;
  // The same for a line of JSON.
  nlohmann::ordered_json describe(const io::SocketAddress& join_address) const;

  // Call it from time to time: reads secrets and tokens again if a SIGHUP has come. If they cannot
  // be read, the log says why, and those from before stay in use.
  void look_for_hangup() const;

 private:
  struct Keys;
  std::string join_string(const io::SocketAddress& join_address) const;

  bool wants_keys_ = false;
  bool is_insecure_ = false;
  std::string state_;
  std::shared_ptr<Keys> keys_;  // null: the switch uses no keys
};

// The switch above: its string to join with, and its address. Empty: there is none.
struct ParentPlace {
  std::string place;
  io::SocketAddress at;
  keys::JoinString join;
};

// `typed` is the option's value. An error is the end of a sentence that begins with the option.
keys::Stated<ParentPlace> read_parent(const std::string& typed);

// Returns the directory that an option --state names, or the default one. An error is a sentence.
keys::Stated<std::string> state_path(const std::string& typed);
inline constexpr std::string_view kStateHelp =
    "Directory of the switch's keys and tokens; else $STATE_DIRECTORY, /var/lib/infold for root, "
    "or "
    "~/.local/state/infold";

}  // namespace infold::cli
