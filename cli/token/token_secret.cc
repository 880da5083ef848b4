// SPDX-License-Identifier: Apache-2.0
//
// infold token secret: the secret of a switch, which marks its tokens, and its renewal. It shows no
// secret.
#include <string>

#include "cli/commands.h"
#include "cli/line/output.h"
#include "cli/token/token_state.h"
#include "io/host/clock.h"
#include "keys/state/switch_keys.h"

namespace infold::cli {
namespace {

class TokenSecret final : public Command {
 public:
  std::string_view name() const override { return "token secret"; }
  std::string_view summary() const override {
    return "Renew the secret that marks the tokens of a switch";
  }

  void declare(Options& options) override {
    options.flag("--renew", renews_,
                 "Draw a new secret; tokens by the one before it still count until the next "
                 "renewal");
    state_.declare(options);
    options.examples(
        "  infold token secret --renew && systemctl reload infold-switch\n"
        "Without --renew, it says how many secrets count. After two renewals, no token from "
        "before\n"
        "them counts, whatever it permits.");
  }

  ExitCode run(Output& output) override {
    const auto state = state_.open();
    if (!state) return token_failed(output, name(), state.error());
    if (renews_) {
      const auto renewed = keys::renew_secret(*state, io::seconds_since_1970());
      if (!renewed) return token_failed(output, name(), renewed.error());
    }
    const auto book = keys::load_book(*state);
    if (!book) return token_failed(output, name(), book.error());
    output.text("secret {}{}{}\n", book->number,
                book->previous
                    ? fmt::format("; tokens by secret {} count as well", book->number - 1)
                    : std::string(),
                renews_ ? fmt::format("; {}", kReloadHint) : std::string());
    output.object({{"secret", book->number}, {"has_previous", book->previous.has_value()}});
    return ExitCode::kDone;
  }

 private:
  bool renews_ = false;
  TokenState state_;
};

}  // namespace

std::unique_ptr<Command> make_token_secret_command() { return std::make_unique<TokenSecret>(); }

}  // namespace infold::cli
