// SPDX-License-Identifier: Apache-2.0
//
// infold verify: one rank of a job that makes every kind of call. It hashes every result, and
// compares it with the other ranks' results and with a reference. Every rank runs the same command.
// Rank 0 reports, and all ranks end with the same status.

#include <algorithm>
#include <chrono>
#include <cstring>
#include <map>
#include <numeric>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <infold/communicator.h>

#include "base/attempt.h"
#include "base/digest.h"
#include "cli/commands.h"
#include "cli/line/join_flags.h"
#include "cli/line/progress.h"
#include "core/site_record.h"
#include "rank/divergence.h"
#include "study/desk/interrupt.h"
#include "study/measure/verify_battery.h"
#include "study/measure/verify_rounding.h"

namespace infold::cli {
namespace {

using Clock = std::chrono::steady_clock;

// The length of a row is the greatest common divisor of this number and the tensor's length. Rows
// therefore range from one element to three blocks.
constexpr std::size_t kRowElementsMax = 96;
constexpr const char* kStopped = "stopped on request";

struct Tally {
  std::uint64_t calls = 0;
  std::uint64_t elements = 0;  // the number of elements that this rank compared
};

// A difference that all ranks know about.
struct Finding {
  std::string text;
  nlohmann::ordered_json json;
};

bool is_same_for_all(measure::Collective collective) {
  return collective == measure::Collective::all_reduce ||
         collective == measure::Collective::broadcast ||
         collective == measure::Collective::all_gather;
}

class Verify final : public Command {
 public:
  std::string_view name() const override { return "verify"; }
  std::string_view summary() const override {
    return "Compare every collective's result, bit by bit, between ranks and with a reference";
  }

  void declare(Options& options) override {
    join_.declare(options);
    options.whole_list("--elements", elements_, {0, 100'000'000}, "Sizes of tensors in elements");
    options.flag("--native", native_,
                 "Also sum in format native by its name, which fails where a site lacks it");
    options.flag("--only-adds", only_adds_,
                 "Make only calls that a P4 pipeline sums: no block formats, no sums of 64 bits");
    options.text_list("--reductions", reduction_names_,
                      "Make only calls with these reductions, of sum, average, min, max and or, "
                      "with commas between; empty for all");
    options.whole<unsigned>("--rounds", rounds_, {1, 1'000'000},
                            "Rounds of all calls; each round has other values");
    options.whole<std::uint64_t>("--seed", seed_, {0, 1'000'000'000},
                                 "Seed of all values; must be the same at all ranks");
    options.whole<std::uint64_t>(
        "--flip", flip_, {1, 1'000'000'000},
        "Change a bit of this rank's result in the call with this number, as a test");
    options.examples(
        "  infold verify --switch 10.0.0.1:7700 --rank 0 --ranks 4\n"
        "  infold verify --switch 10.0.0.1:7700 --rank 1 --ranks 4 --flip 1000\n"
        "  torchrun --no-python --nproc-per-node 4 infold verify --rounds 20");
  }

  ExitCode run(Output& output) override {
    const desk::InterruptGuard guard;
    const desk::InterruptStop stop(guard);
    stop_ = stop.token();
    const base::Attempt<core::ReductionSet> chosen = chosen_reductions();
    if (!chosen) return fail(output, chosen.error(), ExitCode::kBadUsage);
    reductions_ = *chosen;
    const Result<JoinOptions> complete = join_.complete();
    if (!complete) return fail(output, complete.error().message, ExitCode::kBadUsage);
    const std::uint64_t calls = cases_of(0, complete->world).size() * rounds_;
    if (flip_ && *flip_ > calls) {
      return fail(output,
                  fmt::format("--flip {}: there are {} calls; choose a number up to {}, or more "
                              "--rounds",
                              *flip_, calls, calls),
                  ExitCode::kBadUsage);
    }
    Result<Communicator> joined = join_.join(stop_);
    if (!joined) return fail(output, joined.error().message);
    Communicator communicator = std::move(*joined);
    const rank::Ranks ranks = ranks_of(communicator);
    if (const std::string problem = agree(ranks); !problem.empty()) {
      return fail(output, desk::InterruptGuard::interrupted() ? kStopped : problem);
    }
    if (communicator.rank() == 0) {
      output.text("{} rank{}, seed {}\n\n{:<16} {:>8} {:>13}  {}\n", communicator.world(),
                  communicator.world() == 1 ? "" : "s", seed_, "collective", "calls", "elements",
                  "compared with");
    }
    const Clock::time_point start = Clock::now();
    CountLine progress(output, communicator.rank() == 0);
    for (unsigned round = 0; round < rounds_; ++round) {
      const std::vector<measure::VerifyCase> cases = cases_of(round, communicator.world());
      for (const measure::VerifyCase& each : cases) {
        progress.show(call_, cases.size() * rounds_, "calls compared");
        std::string error;
        const std::optional<Finding> finding = make(communicator, ranks, each, error);
        if (desk::InterruptGuard::interrupted()) error = kStopped;
        if (finding || !error.empty()) progress.clear();
        if (!error.empty()) return fail(output, error);
        if (finding) return report(output, communicator.rank(), *finding);
      }
    }
    progress.clear();
    if (flip_)
      return fail(output, "--flip: none of the last calls gives this rank a result to change");
    if (communicator.rank() == 0) {
      print(output, communicator.world(),
            std::chrono::duration<double>(Clock::now() - start).count());
    }
    return ExitCode::kDone;
  }

 private:
  static ExitCode fail(Output& output, const std::string& reason,
                       ExitCode code = ExitCode::kFailed) {
    output.log("infold verify: {}\n", reason);
    return code;
  }

  std::vector<measure::VerifyCase> cases_of(unsigned round, int world) const {
    return measure::battery(
        {elements_, base::mix64(seed_) + round, world, native_, only_adds_, reductions_});
  }

  // Returns the reductions that the options name, or all if they name none.
  base::Attempt<core::ReductionSet> chosen_reductions() const {
    if (reduction_names_.empty()) return core::ReductionSet::all();
    core::ReductionSet chosen;
    for (const std::string& name : reduction_names_) {
      const auto found =
          std::find_if(std::begin(measure::kReductions), std::end(measure::kReductions),
                       [&](Reduction each) { return name == reduction_name(each); });
      if (found == std::end(measure::kReductions)) {
        return base::cannot(fmt::format("--reductions: '{}' is not a reduction; allowed: {}", name,
                                        core::names_of(core::ReductionSet::all())));
      }
      chosen = chosen | core::ReductionSet::of(*found);
    }
    return chosen;
  }

  // Like rank::ranks_of, except that a stop request cancels the calls.
  rank::Ranks ranks_of(Communicator& communicator) const {
    const auto greatest = [this, &communicator](std::span<std::int32_t> values) -> Result<void> {
      const auto done = desk::wait_or_cancel(
          communicator.all_reduce(values, {.reduction = Reduction::max}), stop_);
      if (!done) return tl::unexpected(done.error());
      return {};
    };
    return {communicator.rank(), communicator.world(), greatest};
  }

  // Checks that all ranks have the same options, because different options would lead to different
  // calls.
  std::string agree(const rank::Ranks& ranks) const {
    base::Digest digest;
    digest.add(seed_);
    digest.add(rounds_);
    digest.add((native_ ? 1U : 0U) | (only_adds_ ? 2U : 0U));
    digest.add(reductions_.bits());
    for (const std::uint64_t each : elements_) digest.add(each);
    const std::int64_t own[] = {static_cast<std::int64_t>(digest.value())};
    const auto found = rank::find_divergence(own, ranks);
    if (!found) return found.error().message;
    if (!*found) return "";
    return fmt::format(
        "rank {} has another --seed, --rounds, --native, --only-adds, --reductions or --elements",
        (*found)->ranks.front());
  }

  std::optional<Finding> make(Communicator& communicator, const rank::Ranks& ranks,
                              const measure::VerifyCase& each, std::string& error) {
    ++call_;
    Tally& tally = tallies_[each.collective];
    ++tally.calls;
    const int world = communicator.world();
    const auto wanted = measure::expected_of(each, communicator.rank(), world);
    std::vector<std::byte> got(wanted ? wanted->size() : 0);
    const Result<Completion> done = desk::wait_or_cancel(call(communicator, each, got), stop_);
    if (!done) {
      error = done.error().message;
      return std::nullopt;
    }
    if (holds_rows_) scatter(got);
    if (flip_ && call_ >= *flip_ && !got.empty()) {
      got[got.size() / element_bytes(each.type) / 2 * element_bytes(each.type)] ^= std::byte{1};
      flip_.reset();
    }
    tally.elements += got.size() / element_bytes(each.type);
    if (communicator.rank() == 0 && wanted) rounding_.add(each, 0, world, got, *wanted);
    if (is_same_for_all(each.collective)) {
      const TensorView view(got.data(), got.size() / element_bytes(each.type), each.type);
      const auto found = rank::find_divergence(view, ranks);
      if (!found) error = found.error().message;
      if (!found) return std::nullopt;
      if (*found) return finding_of(each, **found);
    }
    return compare(ranks, each, got, wanted, error);
  }

  Handle call(Communicator& communicator, const measure::VerifyCase& each,
              std::vector<std::byte>& got) {
    const int world = communicator.world();
    const CallOptions options = {.reduction = each.reduction, .wire = each.wire};
    input_ = measure::input_of(each, communicator.rank(), world);
    const std::size_t bytes = element_bytes(each.type);
    const MutableTensorView result(got.data(), got.size() / bytes, each.type);
    const TensorView view(input_.data(), input_.size() / bytes, each.type);
    holds_rows_ = false;
    if (each.is_sparse) return sum_sparse(communicator, each, result, options);
    switch (each.collective) {
      case measure::Collective::all_reduce:
        if (!each.in_place) return communicator.all_reduce(view, result, options);
        got = input_;
        return communicator.all_reduce({got.data(), result.elements, each.type}, options);
      case measure::Collective::reduce:
        return communicator.reduce(view, result, each.root, options);
      case measure::Collective::broadcast:
        if (communicator.rank() == each.root) got = input_;
        return communicator.broadcast({got.data(), result.elements, each.type}, each.root);
      case measure::Collective::all_gather: return communicator.all_gather(view, result);
      case measure::Collective::reduce_scatter:
        return communicator.reduce_scatter(view, result, options);
      case measure::Collective::barrier: break;
    }
    return communicator.barrier();
  }

  // The ranks pass their tensors and take their results in different ways, and each rank changes
  // its way with every call.
  Handle sum_sparse(Communicator& communicator, const measure::VerifyCase& each,
                    MutableTensorView result, CallOptions options) {
    const std::uint64_t turn = each.seed + static_cast<std::uint64_t>(communicator.rank());
    if (turn % 3 == 0) {
      options.layout = Layout::blocks;
      return communicator.all_reduce({input_.data(), result.elements, each.type}, result, options);
    }
    find_rows(each, std::gcd(result.elements, kRowElementsMax));
    const std::size_t bytes = element_bytes(each.type);
    const RowsView rows = {indices_,
                           {row_values_.data(), row_values_.size() / bytes, each.type},
                           result.elements / row_elements_,
                           row_elements_};
    holds_rows_ = turn % 3 == 1;
    return holds_rows_ ? communicator.all_reduce(rows, rows_, options)
                       : communicator.all_reduce(rows, result, options);
  }

  // Finds the rows with any bit set, so a row that holds only a negative zero counts as present.
  void find_rows(const measure::VerifyCase& each, std::size_t row_elements) {
    row_elements_ = row_elements;
    indices_.clear();
    row_values_.clear();
    const std::size_t bytes = row_elements * element_bytes(each.type);
    for (std::size_t at = 0; at < input_.size(); at += bytes) {
      const auto row = std::span(input_).subspan(at, bytes);
      if (std::all_of(row.begin(), row.end(),
                      [](std::byte value) { return value == std::byte{0}; })) {
        continue;
      }
      indices_.push_back(static_cast<std::int64_t>(at / bytes));
      row_values_.insert(row_values_.end(), row.begin(), row.end());
    }
  }

  void scatter(std::vector<std::byte>& got) const {
    const TensorView values = rows_.values();
    const std::size_t bytes = rows_.row_elements() * element_bytes(values.type);
    const auto* from = static_cast<const std::byte*>(values.data);
    for (const std::int64_t row : rows_.indices()) {
      std::memcpy(got.data() + static_cast<std::size_t>(row) * bytes, from, bytes);
      from += bytes;
    }
  }

  // Compares this rank's result with the reference, and finds the lowest rank with a wrong element.
  // All ranks then learn that rank's difference, because only it knows its values.
  std::optional<Finding> compare(const rank::Ranks& ranks, const measure::VerifyCase& each,
                                 const std::vector<std::byte>& got,
                                 const std::optional<std::vector<std::byte>>& wanted,
                                 std::string& error) const {
    const auto wrong = wanted ? measure::first_wrong(each.type, got, *wanted) : std::nullopt;
    // The lowest rank with a wrong element contributes the greatest number.
    std::int32_t first[] = {wrong ? ranks.world - ranks.rank : 0};
    if (const auto done = ranks.greatest(first); !done) error = done.error().message;
    if (!error.empty() || first[0] == 0) return std::nullopt;

    const auto rank = static_cast<int>(ranks.world - first[0]);
    const auto view = [&](const std::vector<std::byte>& tensor) {
      return TensorView(tensor.data(), tensor.size() / element_bytes(each.type), each.type);
    };
    std::uint64_t facts[3] = {};
    if (wrong) {
      facts[0] = *wrong;
      facts[1] = rank::bits_at(view(got), *wrong);
      facts[2] = rank::bits_at(view(*wanted), *wrong);
    }
    for (std::uint64_t& fact : facts) {
      const auto all = rank::numbers_of_all(ranks, static_cast<std::int64_t>(fact));
      if (!all) error = all.error().message;
      if (!all) return std::nullopt;
      fact = static_cast<std::uint64_t>((*all)[static_cast<std::size_t>(rank)]);
    }
    rank::Divergence difference;
    difference.type = each.type;
    difference.element = facts[0];
    difference.ranks = {rank};
    difference.value_bits = facts[1];
    difference.others_bits = facts[2];
    return finding_of(each, difference, "reference");
  }

  Finding finding_of(const measure::VerifyCase& each, const rank::Divergence& found,
                     const char* against = "ranks") const {
    const std::string value = rank::value_text(found.type, found.value_bits);
    const std::string other = rank::value_text(found.type, found.others_bits);
    const auto ulps = rank::ulps_between(found.type, found.value_bits, found.others_bits);
    const bool between_ranks = std::string_view(against) == "ranks";
    Finding finding;
    finding.text = fmt::format(
        "call {}, {} ({}): {}", call_, measure::collective_name(each.collective),
        measure::describe(each),
        between_ranks ? rank::describe(found)
                      : fmt::format("rank {} has {} at element {}, where the reference is {}: "
                                    "{} ulp",
                                    found.ranks.front(), value, found.element, other,
                                    ulps ? fmt::format("{}", *ulps) : "no"));
    finding.json = {{"event", "divergence"},
                    {"call", call_},
                    {"collective", measure::collective_name(each.collective)},
                    {"what", measure::describe(each)},
                    {"against", against},
                    {"ranks", found.ranks},
                    {"element", found.element},
                    {"value", value},
                    {between_ranks ? "others" : "expected", other}};
    if (ulps) finding.json["ulps"] = *ulps;
    return finding;
  }

  ExitCode report(Output& output, int rank, const Finding& finding) const {
    if (rank == 0) output.object(finding.json);
    return fail(output, fmt::format("{}; seed {}", finding.text, seed_));
  }

  void print(Output& output, int world, double seconds) const {
    std::uint64_t calls = 0;
    for (const measure::Collective collective : measure::kCollectives) {
      const auto found = tallies_.find(collective);
      if (found == tallies_.end()) continue;
      const Tally& tally = found->second;
      calls += tally.calls;
      const char* const compared = collective == measure::Collective::barrier ? "nothing; it ended"
                                   : is_same_for_all(collective) ? "other ranks, reference"
                                                                 : "reference";
      output.text("{:<16} {:>8} {:>13}  {}\n", measure::collective_name(collective), tally.calls,
                  tally.elements, compared);
      output.object({{"event", "collective"},
                     {"collective", measure::collective_name(collective)},
                     {"calls", tally.calls},
                     {"elements", tally.elements},
                     {"compared", compared}});
    }
    print_rounding(output);
    output.text("\n{} calls in {:.1f} s: every bit is right at every rank\n", calls, seconds);
    output.object({{"event", "result"},
                   {"world", world},
                   {"seed", seed_},
                   {"rounds", rounds_},
                   {"calls", calls},
                   {"seconds", seconds},
                   {"passed", true}});
  }

  // Prints how rank 0's results are rounded.
  void print_rounding(Output& output) const {
    output.text("\n{:<10} {:<5} {:>10} {:>8} {:>20}  {}\n", "wire", "type", "elements", "off",
                "most ulps", "beside the exact result rounded once");
    for (const auto& [of, rounding] : rounding_.all()) {
      const auto& [wire, type] = of;
      output.text("{:<10} {:<5} {:>10} {:>7.2f}% {:>20}\n", wire_format_name(wire),
                  data_type_name(type), rounding.elements, 100 * rounding.share_off(),
                  rounding.ulps_most);
      output.object({{"event", "rounding"},
                     {"wire", wire_format_name(wire)},
                     {"type", data_type_name(type)},
                     {"elements", rounding.elements},
                     {"off", rounding.off},
                     {"ulps_most", rounding.ulps_most}});
    }
  }

  JoinFlags join_;
  bool native_ = false;
  bool only_adds_ = false;
  std::vector<std::string> reduction_names_;
  core::ReductionSet reductions_;  // the reductions with these names
  // Sizes around 0, around blocks of 32 and 64, and around chunks of 352 and 1376, then sizes of
  // many chunks.
  std::vector<std::uint64_t> elements_ = {0,  1,   2,   31,  32,   33,   63,
                                          64, 351, 352, 353, 1377, 4097, 20011};
  unsigned rounds_ = 1;
  std::uint64_t seed_ = 1;
  std::optional<std::uint64_t> flip_;

  std::stop_token stop_;
  std::uint64_t call_ = 0;
  std::vector<std::byte> input_;  // the tensor of the current call
  // These describe the current call if it reduces rows.
  std::size_t row_elements_ = 1;
  std::vector<std::int64_t> indices_;
  std::vector<std::byte> row_values_;
  bool holds_rows_ = false;  // the result is also rows
  Rows rows_;
  std::map<measure::Collective, Tally> tallies_;
  measure::RoundingTally rounding_;
};

}  // namespace

std::unique_ptr<Command> make_verify_command() { return std::make_unique<Verify>(); }

}  // namespace infold::cli
