// SPDX-License-Identifier: Apache-2.0
//
// infold token revoke: no rank joins with a token any more. Ranks that have joined stay.
#include <optional>
#include <string>

#include "cli/commands.h"
#include "cli/line/output.h"
#include "cli/token/token_state.h"
#include "io/host/clock.h"
#include "keys/state/switch_keys.h"

namespace infold::cli {
namespace {

class TokenRevoke final : public Command {
 public:
  std::string_view name() const override { return "token revoke"; }
  std::string_view summary() const override { return "Let no further rank join with a token"; }

  void declare(Options& options) override {
    options.text("id", id_, "Id of the token, as 'infold token list' shows it", "ID");
    options.require("id");
    state_.declare(options);
    options.examples(
        "  infold token revoke 0123456789abcdef && systemctl reload infold-switch\n"
        "Ranks that have joined with the token stay. If it is the open token, the switch prints a\n"
        "string with another one at its next start.");
  }

  ExitCode run(Output& output) override {
    const std::optional<std::uint64_t> id = keys::id_of(id_);
    if (!id) {
      output.log(
          "infold token revoke: '{}' is not the id of a token, which has 16 digits of 0-9 "
          "and a-f; 'infold token list' shows them\n",
          id_.size() == 16 ? id_ : "...");
      return ExitCode::kBadUsage;
    }
    const auto state = state_.open();
    if (!state) return token_failed(output, name(), state.error());
    const auto revoked = keys::revoke_token(*state, *id, io::seconds_since_1970());
    if (!revoked) return token_failed(output, name(), revoked.error());
    if (!*revoked) {
      return token_failed(output, name(),
                          "no valid token has the id " + id_ + "; 'infold token list' shows them");
    }
    output.text("revoked {}; {}\n", id_, kReloadHint);
    output.object({{"revoked", id_}});
    return ExitCode::kDone;
  }

 private:
  std::string id_;
  TokenState state_;
};

}  // namespace

std::unique_ptr<Command> make_token_revoke_command() { return std::make_unique<TokenRevoke>(); }

}  // namespace infold::cli
