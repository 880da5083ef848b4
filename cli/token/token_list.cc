// SPDX-License-Identifier: Apache-2.0
//
// infold token list: which tokens a switch accepts, and what they permit. It shows no token.
#include <string>

#include <fmt/format.h>

#include "cli/commands.h"
#include "cli/line/output.h"
#include "cli/token/token_state.h"
#include "io/host/clock.h"
#include "keys/state/switch_keys.h"

namespace infold::cli {
namespace {

std::string limit_of(std::uint32_t limit) {
  return limit == keys::Grant::kUnlimited ? "-" : fmt::to_string(limit);
}

const char* kind_name(const keys::BookEntry& entry) {
  if (entry.is_open) return "open";
  return entry.grant.speaks_for_ranks ? "rack" : "rank";
}

class TokenList final : public Command {
 public:
  std::string_view name() const override { return "token list"; }
  std::string_view summary() const override {
    return "List the tokens of a switch, and what they permit";
  }

  void declare(Options& options) override {
    state_.declare(options);
    options.examples(
        "The open token is that of the string which the switch prints. Tokens that have ended are\n"
        "not listed, and neither are tokens by a secret that was renewed twice since.");
  }

  ExitCode run(Output& output) override {
    const auto state = state_.open();
    if (!state) return token_failed(output, name(), state.error());
    auto book = keys::load_book(*state);
    if (!book) return token_failed(output, name(), book.error());
    book->forget_dead(io::seconds_since_1970());
    output.text("{:16}  {:5}  {:7}  {:>7}  {:>8}  {:24} {}\n", "id", "kind", "state", "ranks",
                "slots", "ends", "job");
    for (const keys::BookEntry& entry : book->entries) {
      const keys::Grant& grant = entry.grant;
      const char* const state_name = entry.is_revoked ? "revoked" : "valid";
      output.text("{:16}  {:5}  {:7}  {:>7}  {:>8}  {:24} {}\n", keys::id_text(grant.id),
                  kind_name(entry), state_name, limit_of(grant.ranks_max),
                  limit_of(grant.slots_max), time_text(grant.not_after),
                  grant.job.empty() ? "any" : grant.job);
      output.object({{"id", keys::id_text(grant.id)},
                     {"kind", kind_name(entry)},
                     {"state", state_name},
                     {"ranks", limit_of(grant.ranks_max)},
                     {"slots", limit_of(grant.slots_max)},
                     {"ends", time_text(grant.not_after)},
                     {"job", grant.job}});
    }
    return ExitCode::kDone;
  }

 private:
  TokenState state_;
};

}  // namespace

std::unique_ptr<Command> make_token_list_command() { return std::make_unique<TokenList>(); }

}  // namespace infold::cli
