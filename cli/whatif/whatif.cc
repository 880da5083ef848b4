// SPDX-License-Identifier: Apache-2.0
//
// infold whatif: predicts the steps of a recorded run on another network, for each place where sums
// could be made. whatif_options.cc turns the command line into settings, whatif_table.cc prints,
// and whatif_picture.cc draws.

#include <algorithm>
#include <filesystem>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "cli/commands.h"
#include "cli/line/quantity.h"
#include "cli/line/whole_file.h"
#include "cli/trace/read_traces.h"
#include "cli/whatif/whatif_options.h"
#include "cli/whatif/whatif_picture.h"
#include "cli/whatif/whatif_table.h"
#include "study/desk/interrupt.h"
#include "study/whatif/interference.h"
#include "trace/trace_file.h"
#include "trace/views/perfetto.h"

namespace infold::cli {
namespace {

class WhatIf final : public Command {
 public:
  std::string_view name() const override { return "whatif"; }
  std::string_view summary() const override {
    return "Predict the steps of a recorded run on another network";
  }

  void declare(Options& options) override {
    options.files("file", files_, "Chakra traces of all ranks of a run, such as run.0.et");
    chosen_.declare(options);
    options.path("--apart", apart_,
                 "Trace of one rank whose computes have no call beside them; the prediction then "
                 "knows how much calls slow computes down");
    options.path("--svg", svg_,
                 "Picture to write: the time line of a step, or with --sweep the curves");
    options.path("--perfetto", perfetto_,
                 "Timeline of the predicted run to write, for ui.perfetto.dev; needs one --place");
    options.path("--traces", traces_,
                 "First part of the names of the predicted run's traces to write, as new for "
                 "new.0.et; needs one --place",
                 "PREFIX");
    options.exclude("--sweep", "--perfetto");
    options.exclude("--sweep", "--traces");
    options.examples(
        "  infold whatif run.*.et --link 1G                    would a switch help?\n"
        "  infold whatif run.*.et --link 1G --sweep ranks=4,8,16,32 --svg ranks.svg\n"
        "  infold whatif run.*.et --link 10G --loss 0.01 --place switch --perfetto run.json\n"
        "  infold whatif run.*.et --link 1G --ranks 32 --place racks:4 --rack-link 10G\n"
        "  infold whatif run.*.et --link 1G --ranks 8 --place switch --traces eight");
  }

  ExitCode run(Output& output) override {
    const desk::InterruptGuard guard;
    if (const auto misfit = chosen_.find_misfit()) {
      return fail(output, *misfit, ExitCode::kBadUsage);
    }
    if (const auto clash = find_clash()) return fail(output, *clash, ExitCode::kBadUsage);
    for (const std::string& file : outputs()) {
      if (const auto problem = find_unwritable(file)) return fail(output, *problem);
    }
    auto traces = read_traces(files_);
    if (!traces) return fail(output, traces.error(), status_of_bad(files_));
    if (std::none_of(traces->begin(), traces->end(), has_call)) {
      return fail(output, files_.front() +
                              " has no call between ranks, so there is nothing to "
                              "predict; record some steps (infold.trace)");
    }
    auto run = whatif::RecordedRun::make(std::move(*traces));
    if (!run) return fail(output, run.error());
    const auto questions = chosen_.questions(run->ranks());
    if (!questions) return fail(output, questions.error(), ExitCode::kBadUsage);
    if (writes_run() && questions->front().places.size() != 1) {
      return fail(output, "--perfetto and --traces write one place; name it with --place",
                  ExitCode::kBadUsage);
    }
    std::optional<double> interference;
    if (!apart_.empty()) {
      const auto fitted = fit(*run);
      if (!fitted) return fail(output, fitted.error(), status_of_bad({&apart_, 1}));
      interference = options_.interference = *fitted;
    }
    options_.stop = [] { return desk::InterruptGuard::interrupted(); };
    const Recorded recorded = recorded_of(*run);
    print_run(output, recorded, chosen_, questions->front().places.front().setting, interference);
    return answer(output, *run, recorded, *questions);
  }

 private:
  // Finds a file that would be both read and written, or written twice.
  std::optional<std::string> find_clash() const {
    std::set<std::filesystem::path> used;
    for (const std::string& file : files_) used.insert(std::filesystem::weakly_canonical(file));
    if (!apart_.empty()) used.insert(std::filesystem::weakly_canonical(apart_));
    for (const std::string& file : outputs()) {
      if (used.insert(std::filesystem::weakly_canonical(file)).second) continue;
      return file + " would be overwritten; choose another name";
    }
    return std::nullopt;
  }

  // Lists the files to write. Of the predicted traces it lists only as many as are read, which is
  // enough to notice that the names are those of the run that is read.
  std::vector<std::string> outputs() const {
    std::vector<std::string> outputs = {svg_, perfetto_};
    for (std::size_t rank = 0; !traces_.empty() && rank < files_.size(); ++rank) {
      outputs.push_back(fmt::format("{}.{}.et", traces_, rank));
    }
    std::erase(outputs, "");
    return outputs;
  }

  static bool has_call(const trace::NamedTrace& each) {
    return std::any_of(
        each.trace.nodes.begin(), each.trace.nodes.end(),
        [](const trace::Node& node) { return node.type == trace::NodeType::collective; });
  }

  bool writes_run() const { return !perfetto_.empty() || !traces_.empty(); }

  static ExitCode fail(Output& output, const std::string& reason,
                       ExitCode code = ExitCode::kFailed) {
    output.log("infold whatif: {}\n", reason);
    return code;
  }

  tl::expected<double, std::string> fit(const whatif::RecordedRun& run) const {
    const auto apart = trace::read(apart_);
    if (!apart) return tl::unexpected(apart.error());
    auto fitted = whatif::fit_interference(*apart, run.traces().front());
    if (!fitted) return tl::unexpected("--apart " + apart_ + ": " + fitted.error());
    return fitted;
  }

  ExitCode answer(Output& output, const whatif::RecordedRun& run, const Recorded& recorded,
                  const std::vector<PlaceQuestions>& questions) {
    std::vector<Answer> answers;
    std::size_t answered = 0;
    for (const PlaceQuestions& each : questions) {
      for (const NamedSetting& place : each.places) {
        auto predicted = whatif::predict(run, place.setting, options_);
        if (!predicted) return fail(output, place.name + ": " + predicted.error());
        answers.push_back({place, each.value, answered, std::move(*predicted)});
        if (const auto why = add_spread(run, answers.back())) return fail(output, *why);
        print_object(output, answers.back());
        // Tables and pictures need only the steps.
        if (!writes_run()) answers.back().prediction.played = {};
      }
      ++answered;
    }
    const bool sweeps = !questions.front().value.empty();
    sweeps ? print_sweep(output, chosen_.swept(), answers)
           : print_places(output, recorded, answers);
    return write_files(output, answers);
  }

  // Losses, and the order in which ranks meet at each other, depend on the seed.
  std::optional<std::string> add_spread(const whatif::RecordedRun& run, Answer& answer) const {
    whatif::Setting setting = answer.place.setting;
    const bool has_packets = setting.model == whatif::Model::packets &&
                             setting.place != whatif::Place::nowhere &&
                             setting.place != whatif::Place::ring;
    if (!has_packets || (setting.loss == 0 && setting.place != whatif::Place::workers)) return {};
    const double first = answer.prediction.split.step_us;
    answer.spread = Spread{first, first};
    for (int more = 1; more < kSeeds; ++more) {
      ++setting.seed;
      const auto predicted = whatif::predict(run, setting, options_);
      if (!predicted) return answer.place.name + ": " + predicted.error();
      answer.spread->least_us = std::min(answer.spread->least_us, predicted->split.step_us);
      answer.spread->most_us = std::max(answer.spread->most_us, predicted->split.step_us);
    }
    return {};
  }

  ExitCode write_files(Output& output, const std::vector<Answer>& answers) const {
    if (!svg_.empty()) {
      const std::string picture =
          chosen_.swept().empty() ? draw_steps(answers) : draw_sweep(chosen_.swept(), answers);
      if (const auto problem = write_file(svg_, picture)) return fail(output, *problem);
      output.text("{}: picture\n", svg_);
    }
    if (!perfetto_.empty()) {
      std::vector<trace::Timeline> played;
      for (const trace::Trace& each : answers.front().prediction.played) {
        played.push_back({played.size(), fmt::format("rank {}", played.size()), &each});
      }
      if (const auto problem = write_file(perfetto_, trace::perfetto_of(played))) {
        return fail(output, *problem);
      }
      output.text("{}: timeline; open it at https://ui.perfetto.dev\n", perfetto_);
    }
    return traces_.empty() ? ExitCode::kDone : write_traces(output, answers.front().prediction);
  }

  ExitCode write_traces(Output& output, const whatif::Prediction& prediction) const {
    for (std::size_t rank = 0; rank < prediction.played.size(); ++rank) {
      const std::string file = fmt::format("{}.{}.et", traces_, rank);
      const auto written = trace::write(prediction.played[rank], file);
      if (!written) return fail(output, written.error());
    }
    output.text("{}.0.et and so on: the traces of {}\n", traces_,
                counted(prediction.played.size(), "rank"));
    return ExitCode::kDone;
  }

  static constexpr int kSeeds = 3;  // the seeds whose shortest and longest step a row shows

  std::vector<std::string> files_;
  WhatIfOptions chosen_;
  whatif::PlaybackOptions options_;
  std::string apart_;
  std::string svg_;
  std::string perfetto_;
  std::string traces_;
};

}  // namespace

std::unique_ptr<Command> make_whatif_command() { return std::make_unique<WhatIf>(); }

}  // namespace infold::cli
