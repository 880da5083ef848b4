// SPDX-License-Identifier: Apache-2.0
#include "cli/switch/key_options.h"

#include <cstdlib>
#include <span>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

#include <fmt/format.h>

#include "io/address/route.h"
#include "io/host/clock.h"
#include "io/host/log.h"
#include "keys/token/join_strings.h"
#include "study/desk/hangup.h"

namespace infold::cli {
namespace {

// Whether stdout goes to systemd's journal (systemd.exec(5), $JOURNAL_STREAM).
bool is_journal() {
  const char* const stream = std::getenv("JOURNAL_STREAM");
  struct stat found = {};
  if (stream == nullptr || fstat(STDOUT_FILENO, &found) != 0) return false;
  return fmt::format("{}:{}", found.st_dev, found.st_ino) == stream;
}

// Returns the address for ranks elsewhere. A switch that listens at all addresses names the one
// from which packets would leave this host, or else the host's name.
std::string place_elsewhere(const io::SocketAddress& join_address) {
  if (!join_address.is_any()) return join_address.text();
  const auto far = io::SocketAddress::parse_number("192.0.2.1:9", "an address");  // RFC 5737
  const base::Result<io::Route> route = io::route_to(*far);
  if (route && !route->local.is_any()) {
    io::SocketAddress own = route->local;
    own.set_port(join_address.port());
    return own.text();
  }
  char name[256] = {};
  if (gethostname(name, sizeof(name) - 1) != 0) return join_address.text();
  return fmt::format("{}:{}", name, join_address.port());
}

}  // namespace

struct KeyOptions::Keys {
  Keys(keys::StateDirectory directory, keys::SwitchKeys all)
      : state(std::move(directory)),
        identity(std::move(all.identity)),
        open_token(std::move(all.open_token)),
        keyring(std::make_shared<keys::LiveKeyring>(all.book.keyring())) {}

  const keys::StateDirectory state;
  const keys::Identity identity;
  const std::string open_token;
  const std::shared_ptr<keys::LiveKeyring> keyring;
};

void KeyOptions::declare(Options& options) {
  options.flag("--keys", wants_keys_,
               "Let only ranks join that have a token, over TLS; the default unless the switch "
               "listens on loopback alone");
  options.flag("--insecure", is_insecure_, "Let every rank join that reaches the switch");
  options.exclude("--keys", "--insecure");
  options.path("--state", state_, kStateHelp, "DIRECTORY");
}

keys::Stated<void> KeyOptions::open(const io::SocketAddress& listen,
                                    const io::SocketAddress& join_address) {
  const bool is_local =
      listen.is_loopback() && (!join_address.is_set() || join_address.is_loopback());
  if (is_insecure_ || (is_local && !wants_keys_)) return {};
  const auto failed = [](const std::string& why) {
    return tl::unexpected(
        fmt::format("--state: {} (with --insecure, the switch needs no keys)", why));
  };
  const keys::Stated<std::string> path = state_path(state_);
  if (!path) return failed(path.error());
  keys::Stated<keys::StateDirectory> state = keys::StateDirectory::open(*path);
  if (!state) return failed(state.error());
  keys::Stated<keys::SwitchKeys> all = keys::load_or_make_keys(*state, io::seconds_since_1970());
  if (!all) return failed(all.error());
  keys_ = std::make_shared<Keys>(std::move(*state), std::move(*all));
  return {};
}

join::ServerOptions KeyOptions::server_options() const {
  join::ServerOptions options;
  if (!keys_) return options;
  options.identity = keys_->identity;
  options.tokens = join::TokenCheck(keys_->keyring);
  return options;
}

std::string KeyOptions::join_string(const io::SocketAddress& join_address) const {
  return keys::text_of(keys::JoinString{place_elsewhere(join_address),
                                        keys_->identity.fingerprint(), keys_->open_token});
}

void KeyOptions::announce(Output& output, const io::SocketAddress& join_address) const {
  if (!keys_) {
    output.text("keys: none; every rank that reaches the switch may join\n");
  } else if (is_journal()) {
    output.text(
        "keys: in {}; 'infold token show --state {} --at {}' prints the string to join "
        "with\n",
        keys_->state.path(), keys_->state.path(), place_elsewhere(join_address));
  } else {
    output.text("keys: in {}; ranks join with this string, which is secret:\n{}\n",
                keys_->state.path(), join_string(join_address));
  }
}

nlohmann::ordered_json KeyOptions::describe(const io::SocketAddress& join_address) const {
  if (!keys_) return nullptr;
  nlohmann::ordered_json object = {{"state", keys_->state.path()},
                                   {"fingerprint", keys_->identity.fingerprint().text()}};
  if (!is_journal()) object["join_string"] = join_string(join_address);
  return object;
}

void KeyOptions::look_for_hangup() const {
  if (!desk::HangupNotice::take()) return;
  using status::LogLevel;
  if (!keys_) {
    io::log(LogLevel::info, "settings_read", {{"keys", "none"}});
    return;
  }
  const keys::Stated<keys::TokenBook> book = keys::load_book(keys_->state);
  if (!book) {
    io::log(LogLevel::error, "settings_unread", {{"reason", book.error()}});
    return;
  }
  keys_->keyring->replace(book->keyring());
  io::log(
      LogLevel::info, "settings_read",
      {{"keys", keys_->state.path()}, {"secret", book->number}, {"tokens", book->entries.size()}});
}

keys::Stated<ParentPlace> read_parent(const std::string& typed) {
  if (typed.empty()) return ParentPlace{};
  const auto strings = keys::read_join_strings(std::span(&typed, 1));
  if (!strings) return tl::unexpected(strings.error());
  if (strings->size() != 1) {
    return tl::unexpected<std::string>("names several switches; a rack's switch has one parent");
  }
  const keys::JoinString& join = strings->front();
  const auto at = io::SocketAddress::parse(join.place, "address");
  if (!at) return tl::unexpected(fmt::format("'{}' {}", join.place, at.error().detail));
  return ParentPlace{join.place, *at, join};
}

keys::Stated<std::string> state_path(const std::string& typed) {
  if (!typed.empty()) return typed;
  const std::string path = keys::StateDirectory::default_path();
  if (!path.empty()) return path;
  return tl::unexpected<std::string>("this user has no home, so name a directory with --state");
}

}  // namespace infold::cli
