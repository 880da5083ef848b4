// SPDX-License-Identifier: Apache-2.0
//
// infold token show: prints the string to join with that the switch itself prints when it starts,
// for a switch whose output goes to a journal.
#include <string>

#include "cli/commands.h"
#include "cli/line/output.h"
#include "cli/token/token_state.h"
#include "io/host/clock.h"
#include "keys/state/switch_keys.h"

namespace infold::cli {
namespace {

class TokenShow final : public Command {
 public:
  std::string_view name() const override { return "token show"; }
  std::string_view summary() const override {
    return "Print the string to join with that lets any job join, without limits";
  }

  void declare(Options& options) override {
    at_.declare(options);
    state_.declare(options);
    options.examples("  infold token show --at 10.0.0.1:7700 > join.txt");
  }

  ExitCode run(Output& output) override {
    const auto state = state_.open();
    if (!state) return token_failed(output, name(), state.error());
    // Without this look, the directory would get keys that no switch has announced.
    if (const auto fingerprint = keys::load_fingerprint(*state); !fingerprint) {
      return token_failed(output, name(), fingerprint.error());
    }
    const auto all = keys::load_or_make_keys(*state, io::seconds_since_1970());
    if (!all) return token_failed(output, name(), all.error());
    const std::string join = at_.join_string(all->identity.fingerprint(), all->open_token);
    output.text("{}\n", join);
    output.object({{"join_string", join}});
    return ExitCode::kDone;
  }

 private:
  JoinPlace at_;
  TokenState state_;
};

}  // namespace

std::unique_ptr<Command> make_token_show_command() { return std::make_unique<TokenShow>(); }

}  // namespace infold::cli
