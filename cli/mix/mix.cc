// SPDX-License-Identifier: Apache-2.0
//
// infold mix: simulates training jobs that share a cluster, under each scheduler in turn.

#include <chrono>
#include <filesystem>
#include <functional>
#include <map>

#include "cli/commands.h"
#include "cli/line/progress.h"
#include "cli/line/whole_file.h"
#include "cli/mix/mix_table.h"
#include "study/desk/interrupt.h"
#include "study/mix/jobs/draw_jobs.h"
#include "study/mix/program/model_list.h"
#include "trace/views/perfetto.h"

namespace infold::cli {
namespace {

constexpr std::string_view kAll = "all";
constexpr std::uint64_t kReports = 10;
// Larger than the largest list of jobs, and enough for 20,000 layers.
constexpr std::size_t kFileBytesMax = 1U << 20;

class Mix final : public Command {
 public:
  std::string_view name() const override { return "mix"; }
  std::string_view summary() const override {
    return "Simulate training jobs that share hosts, links and slots, under several schedulers";
  }

  void declare(Options& options) override {
    std::vector<std::string> schedulers;
    for (const mix::SchedulerKind scheduler : mix::kSchedulers)
      schedulers.emplace_back(scheduler_name(scheduler));
    schedulers.emplace_back(kAll);
    options.choice("--scheduler", scheduler_, schedulers,
                   "How jobs share: as sums come; first layers first; short jobs first "
                   "(sincronia); turns at the switches' slots; or all of these, one by one");
    declare_jobs(options);
    declare_cluster(options);
    options.whole<std::uint32_t>(
        "--piece", mix_.piece_chunks, {1, 10'000},
        "Chunks of a call that a scheduler makes; none calls whole layers");
    options.whole<std::uint32_t>("--credit", mix_.credit_chunks, {1, 30'000},
                                 "Chunks of one job that a scheduler has in flight");
    options.real("--scale", mix_.scale, {1, 10'000},
                 "Divides elements and GPU times; printed times are multiplied by it");
    options.real("--jitter", mix_.sigma, {0, 0.3},
                 "Sigma of the normal jitter of a GPU's work, as a share of its time");
    options.whole<std::uint64_t>("--seed", mix_.seed, {1, ~std::uint64_t{0} >> 1},
                                 "Seed of the jitter and of drawn jobs");
    options.path("--perfetto", perfetto_,
                 "Timeline of the first rank of each job to write, for ui.perfetto.dev; needs one "
                 "--scheduler");
    for (const char* const name : kOfSomeRuns) given_[name] = options.is_given(name);
    for (const char* const of_drawn : {"--draw", "--gap", "--ranks-max", "--iterations-max"}) {
      options.exclude("--jobs", of_drawn);
    }
    for (const char* const of_run : {"--scheduler", "--perfetto"}) {
      options.exclude("--print-jobs", of_run);
    }
    options.examples(
        "  infold mix                                  60 drawn jobs, under each scheduler\n"
        "  infold mix --draw 20 --print-jobs           the list of 20 drawn jobs, to edit\n"
        "  infold mix --jobs jobs.csv --scheduler sincronia --json\n"
        "  infold mix --models models.csv --draw 20    jobs that train models of your own\n"
        "  infold mix --draw 8 --scheduler priority --perfetto mix.json\n"
        "  infold mix --racks 16 --hosts 15 --placement spread --scale 400\n"
        "  infold mix --slots 64 --piece 8             slots are scarce\n"
        "  infold mix --jobs jobs.csv --racks 32 --hosts 32 --scale 400    up to 1024 ranks\n");
  }

  ExitCode run(Output& output) override {
    const desk::InterruptGuard guard;
    complete();
    std::vector<mix::JobSpec> jobs;
    if (const std::string ignored = find_ignored(); !ignored.empty()) {
      output.log("infold mix: {}\n", ignored);
      return ExitCode::kBadUsage;
    }
    if (!read_models(output) || !read_jobs(output, jobs)) return ExitCode::kBadUsage;
    if (print_jobs_) {
      print_jobs(output, jobs);
      return ExitCode::kDone;
    }
    if (const auto problem = find_problem_of_timeline()) {
      output.log("infold mix: {}\n", *problem);
      return ExitCode::kBadUsage;
    }
    const std::string reason = mix::reason_against(mix_, jobs);
    if (!reason.empty()) {
      output.log("infold mix: {}\n", reason);
      return ExitCode::kBadUsage;
    }
    if (const auto problem = perfetto_.empty() ? std::nullopt : find_unwritable(perfetto_)) {
      output.log("infold mix: {}\n", *problem);
      return ExitCode::kFailed;
    }
    return run_schedulers(output, jobs);
  }

 private:
  std::optional<std::string> find_problem_of_timeline() const {
    if (perfetto_.empty()) return std::nullopt;
    if (scheduler_ == kAll) return "--perfetto writes one run; name its --scheduler";
    for (const std::string& file : {file_, models_file_}) {
      std::error_code is_absent;
      if (std::filesystem::equivalent(perfetto_, file, is_absent)) {
        return file + " would be overwritten; choose another name";
      }
    }
    return std::nullopt;
  }

  // Returns an error if an option has no effect beside the others, else an empty text.
  std::string find_ignored() const {
    for (const char* const name : {"--rack-link", "--placement"}) {
      if (mix_.hosts.racks > 1 || !given_.at(name)()) continue;
      return fmt::format("{} needs several racks; add --racks 2 or more, or leave it out", name);
    }
    for (const char* const name : {"--piece", "--credit"}) {
      if (scheduler_ != scheduler_name(mix::SchedulerKind::none) || !given_.at(name)()) continue;
      return fmt::format("{}: --scheduler none calls whole layers; choose another scheduler", name);
    }
    if (scheduler_ == scheduler_name(mix::SchedulerKind::slots) && given_.at("--shares")()) {
      return "--shares: with --scheduler slots, jobs take turns at all slots; leave it out";
    }
    return "";
  }

  void declare_jobs(Options& options) {
    options.path("--jobs", file_,
                 "File of jobs, a line each: seconds of submission, model, workers, iterations");
    options.path("--models", models_file_,
                 "File of your own models, a line for each layer: model, elements, microseconds of "
                 "forward, backward and update; drawn jobs then have only these models");
    options.whole<std::uint32_t>("--draw", draw_.jobs, {1, mix::kJobsMax},
                                 "Number of jobs to draw, where there is no file");
    options.real("--gap", draw_.mean_gap_s, {0, 1'000},
                 "Mean seconds between drawn jobs' submissions");
    options.whole<std::uint16_t>("--ranks-max", draw_.workers_max, {2, mix::kWorkersOfJobMax},
                                 "Most ranks of a drawn job");
    options.whole<std::uint32_t>("--iterations-max", draw_.iterations_max, {2, mix::kIterationsMax},
                                 "Most iterations of a drawn job");
    options.flag("--print-jobs", print_jobs_, "Print the jobs as a file of jobs, and end");
  }

  void declare_cluster(Options& options) {
    options.whole<std::uint16_t>("--racks", mix_.hosts.racks, {1, 256},
                                 "Racks, each with a switch; several have a spine above");
    options.whole<std::uint16_t>("--hosts", mix_.hosts.hosts_per_rack, {1, 256},
                                 "Hosts of each rack, with a link each");
    options.whole<std::uint16_t>("--places", mix_.hosts.places_per_host, {1, 64},
                                 "Workers, of different jobs, that a host holds");
    options.choice("--placement", placement_, {"packed", "spread"},
                   "Whether a job gets few racks or all");
    options.rate("--link", rate_, {1e6, 400e9}, "Rate of each host's link");
    options.rate("--rack-link", rack_rate_, {1e6, 400e9}, "Rate of each rack's link to the spine");
    options.real("--rtt-us", rtt_us_, {0, 10'000},
                 "Microseconds from a host to its rack's switch and back, without queues");
    options.whole<std::uint32_t>("--slots", mix_.slots, {1, 30'000}, "Slots of each switch");
    options.whole<std::uint32_t>("--shares", mix_.shares, {1, 30'000},
                                 "Jobs that a switch's slots are divided among, where jobs do not "
                                 "take turns at slots");
  }

  void complete() {
    mix_.host_bits_per_second = static_cast<std::int64_t>(rate_);
    mix_.rack_bits_per_second = static_cast<std::int64_t>(rack_rate_);
    mix_.link_delay = base::nanoseconds(static_cast<std::int64_t>(rtt_us_ * 1e3 / 2));
    mix_.hosts.strategy = placement_ == "spread" ? mix::Strategy::spread : mix::Strategy::packed;
    draw_.seed = mix_.seed;
  }

  // Returns what reader() makes of the file's text, or nothing after printing what is wrong.
  template <typename Reader>
  static auto read_list(Output& output, const std::string& file, const Reader& reader) {
    using List = std::remove_reference_t<decltype(*reader(""))>;
    const auto text = read_file(file, kFileBytesMax);
    if (!text) {
      output.log("infold mix: {}: {}\n", file, text.error());
      return std::optional<List>();
    }
    auto list = reader(*text);
    if (!list) {
      const mix::BadLine& bad = list.error();
      output.log("infold mix: {}{}: {}\n", file,
                 bad.line > 0 ? fmt::format(", line {}", bad.line) : "", bad.reason);
      return std::optional<List>();
    }
    return std::optional<List>(std::move(*list));
  }

  // Returns false after it has printed what is wrong.
  bool read_models(Output& output) {
    known_models_.assign(mix::models().begin(), mix::models().end());
    if (models_file_.empty()) return true;
    auto read = read_list(output, models_file_, mix::read_models);
    if (!read) return false;
    own_models_ = std::move(*read);
    const std::vector<mix::Model> own = mix::views_of(own_models_);
    known_models_.insert(known_models_.end(), own.begin(), own.end());
    draw_.models = std::span(known_models_).last(own.size());
    return true;
  }

  // Returns false after it has printed what is wrong.
  bool read_jobs(Output& output, std::vector<mix::JobSpec>& jobs) const {
    if (file_.empty()) {
      jobs = mix::draw_jobs(draw_);
      return true;
    }
    auto read = read_list(
        output, file_, [&](std::string_view text) { return mix::read_jobs(text, known_models_); });
    if (read) jobs = std::move(*read);
    return read.has_value();
  }

  static void print_jobs(Output& output, const std::vector<mix::JobSpec>& jobs) {
    output.text("{}", mix::write_jobs(jobs));
    for (std::size_t i = 0; i < jobs.size(); ++i) output.object(job_json(i, jobs[i]));
  }

  ExitCode run_schedulers(Output& output, const std::vector<mix::JobSpec>& jobs) {
    std::vector<mix::SchedulerKind> schedulers;
    for (const mix::SchedulerKind scheduler : mix::kSchedulers) {
      if (scheduler_ == kAll || scheduler_ == scheduler_name(scheduler))
        schedulers.push_back(scheduler);
    }
    ProgressLine progress(output, jobs.size() * (schedulers.size() + 1), kReports);
    std::size_t before = 0;
    std::string at_work = "jobs alone";
    const auto keep_going = [&](std::size_t done) {
      progress.show(before + done, fmt::format("{}: {} of {} jobs", at_work, done, jobs.size()));
      return !desk::InterruptGuard::interrupted();
    };
    const auto alone_s = mix::times_alone_s(mix_, jobs, keep_going);
    if (!alone_s) return interrupted(output, progress);
    mix_.is_traced = !perfetto_.empty();
    std::vector<MixRow> rows;
    for (const mix::SchedulerKind scheduler : schedulers) {
      before += jobs.size();
      at_work = scheduler_name(scheduler);
      mix_.scheduler = scheduler;
      const auto start = std::chrono::steady_clock::now();
      const mix::MixOutcome outcome = mix::run(mix_, jobs, keep_going);
      if (!outcome.is_complete) return interrupted(output, progress);
      for (const std::string& wrong : outcome.wrong) {
        progress.end();
        output.log("WRONG: {}\n", wrong);
        return ExitCode::kFailed;
      }
      const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
      rows.push_back({scheduler, outcome, mix::summary_of(outcome, jobs, *alone_s), took.count()});
      print_objects(output, rows.back(), jobs, *alone_s);
    }
    progress.end();
    print_table(output, mix_, rows, jobs.size());
    return perfetto_.empty() ? ExitCode::kDone : write_timeline(output, rows.front(), jobs);
  }

  ExitCode write_timeline(Output& output, const MixRow& row,
                          const std::vector<mix::JobSpec>& jobs) const {
    std::vector<trace::Timeline> timelines;
    for (std::size_t i = 0; i < jobs.size(); ++i) {
      timelines.push_back(
          {i + 1,
           fmt::format("job {}: {}, {} workers", i + 1, jobs[i].model->name, jobs[i].workers),
           &row.outcome.jobs[i].first_rank});
    }
    if (const auto problem = write_file(perfetto_, trace::perfetto_of(timelines))) {
      output.log("infold mix: {}\n", *problem);
      return ExitCode::kFailed;
    }
    output.text("\n{}: timeline; open it at https://ui.perfetto.dev\n", perfetto_);
    return ExitCode::kDone;
  }

  static ExitCode interrupted(Output& output, ProgressLine& progress) {
    progress.end();
    output.log("infold mix: stopped on request\n");
    return ExitCode::kFailed;
  }

  static constexpr const char* kOfSomeRuns[] = {"--rack-link", "--placement", "--piece", "--credit",
                                                "--shares"};

  mix::MixOptions mix_;
  std::map<std::string, std::function<bool()>, std::less<>> given_;  // whether it was typed
  mix::DrawOptions draw_;
  std::string scheduler_{kAll};
  std::string file_;
  std::string models_file_;
  std::vector<mix::OwnModel> own_models_;
  std::vector<mix::Model> known_models_;  // the built-in ones, then the user's
  std::string placement_ = "packed";
  double rate_ = 10e9;
  double rack_rate_ = 10e9;
  double rtt_us_ = 5;
  bool print_jobs_ = false;
  std::string perfetto_;
};

}  // namespace

std::unique_ptr<Command> make_mix_command() { return std::make_unique<Mix>(); }

}  // namespace infold::cli
