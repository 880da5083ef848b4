// SPDX-License-Identifier: Apache-2.0
//
// infold token new: makes a string to join with that permits less than the one which the switch
// prints. Running switches accept it at once, because they know its mark.
#include <optional>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "cli/commands.h"
#include "cli/line/output.h"
#include "cli/token/token_state.h"
#include "core/world.h"
#include "io/host/clock.h"
#include "join/registrar.h"
#include "keys/state/switch_keys.h"

namespace infold::cli {
namespace {

constexpr std::uint32_t kRanksMax = 1'000'000;
constexpr std::uint32_t kSlotsOfTokenMax = 10'000'000;

class TokenNew final : public Command {
 public:
  std::string_view name() const override { return "token new"; }
  std::string_view summary() const override {
    return "Make a string to join with, for some jobs and for some time";
  }

  void declare(Options& options) override {
    options.text("--job", job_, "Name of the job that may join; empty for any job", "NAME");
    options.whole<std::uint32_t>("--ranks", ranks_, {1, kRanksMax},
                                 "Ranks of all its living jobs together; no limit by default");
    options.whole<std::uint32_t>(
        "--slots", slots_, {2, kSlotsOfTokenMax},
        "Slots of each thread that its living jobs hold together; no limit "
        "by default");
    options.text("--ttl", ttl_,
                 "How long it lets ranks join, such as 90s, 30m, 8h or 7d; none for no end",
                 "TIME");
    options.flag("--rack", is_for_racks_,
                 "Let the switch of a rack join with it, and speak for the ranks of the rack");
    at_.declare(options);
    state_.declare(options);
    options.examples(
        "  infold token new --job train --ranks 64 --ttl 8h --at 10.0.0.1:7700 > join.txt\n"
        "  infold token new --rack --ttl none --at 10.0.0.1:7700 > parent.txt\n"
        "The string is secret: whoever has it may join. Ranks take it from a file with\n"
        "INFOLD_SWITCHES=@join.txt, and a rack's switch with --parent @parent.txt.");
  }

  ExitCode run(Output& output) override {
    const std::int64_t now = io::seconds_since_1970();
    keys::Grant grant;
    if (ttl_ != "none") {
      const std::optional<std::int64_t> seconds = parse_ttl(ttl_);
      if (!seconds) {
        output.log(
            "infold token new: --ttl must be a time such as 90s, 30m, 8h or 7d, or none, "
            "not '{}'\n",
            ttl_);
        return ExitCode::kBadUsage;
      }
      grant.not_after = now + *seconds;
    }
    if (!keys::is_job_name(job_)) {
      output.log(
          "infold token new: --job must have at most {} characters, and no control character\n",
          keys::kJobBytesMax);
      return ExitCode::kBadUsage;
    }
    grant.job = job_;
    grant.ranks_max = ranks_.value_or(keys::Grant::kUnlimited);
    grant.slots_max = slots_.value_or(keys::Grant::kUnlimited);
    grant.speaks_for_ranks = is_for_racks_;
    const auto state = state_.open();
    if (!state) return token_failed(output, name(), state.error());
    const auto fingerprint = keys::load_fingerprint(*state);
    if (!fingerprint) return token_failed(output, name(), fingerprint.error());
    const auto made = keys::add_token(*state, grant, now);
    if (!made) return token_failed(output, name(), made.error());
    const std::string join = at_.join_string(*fingerprint, made->text);
    output.text("{}\n", join);
    output.object({{"id", keys::id_text(made->id)},
                   {"join_string", join},
                   {"not_after", time_text(grant.not_after)}});
    output.log("token {}: ends {}\n", keys::id_text(made->id), time_text(grant.not_after));
    return ExitCode::kDone;
  }

 private:
  std::string job_;
  std::optional<std::uint32_t> ranks_;
  std::optional<std::uint32_t> slots_;
  std::string ttl_ = "30d";
  bool is_for_racks_ = false;
  JoinPlace at_;
  TokenState state_;
};

}  // namespace

std::unique_ptr<Command> make_token_new_command() { return std::make_unique<TokenNew>(); }

}  // namespace infold::cli
