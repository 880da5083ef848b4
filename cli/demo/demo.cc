// SPDX-License-Identifier: Apache-2.0
//
// infold demo: shows within a minute that training gives the same result over a lossy network with
// sums in the network. It trains one model alone and on several worker processes, compares the two,
// and draws a picture.

#include <algorithm>
#include <cmath>
#include <string>

#include "cli/commands.h"
#include "cli/line/progress.h"
#include "cli/line/whole_file.h"
#include "study/demo/demo_plot.h"
#include "study/demo/demo_processes.h"
#include "study/desk/interrupt.h"

namespace infold::cli {
namespace {

constexpr std::uint64_t kReportsOfTraining = 5;
constexpr const char* kChooseAnother = "; choose another file with --out";

class TrainingProgress {
 public:
  TrainingProgress(Output& output, std::string title, std::size_t steps)
      : output_(output),
        line_(output, steps, kReportsOfTraining),
        title_(std::move(title)),
        steps_(steps) {}

  bool update(const demo::StepReport& report) {
    print(report);
    return !desk::InterruptGuard::interrupted();
  }
  // Leaves the cursor on a line of its own.
  void end() { line_.end(); }

 private:
  void print(const demo::StepReport& report) {
    std::string packets;
    if (report.packets.lost + report.packets.resent > 0) {
      packets = fmt::format("   packets lost {}, retransmitted {}", report.packets.lost,
                            report.packets.resent);
    }
    if (!line_.show(report.step, fmt::format("{:<22} step {:>4}/{}   loss {:.4f}{}", title_,
                                             report.step, steps_, report.loss, packets))) {
      return;
    }
    output_.object({{"event", "progress"},
                    {"training", title_},
                    {"step", report.step},
                    {"loss", report.loss},
                    {"packets_lost", report.packets.lost},
                    {"packets_resent", report.packets.resent}});
  }

  Output& output_;
  ProgressLine line_;
  std::string title_;
  std::size_t steps_;
};

// The limits of --loss, in percent. At 30 %, a few of a hundred thousand packets are lost so often
// that the deadline of their call passes before they arrive.
constexpr double kLossMost = 15;

// The second run loses more packets than the first, up to a limit: with 15 % loss, 8 workers need
// half a second per step.
double loss_of_repeat(double percent) {
  constexpr double kPlenty = 8;
  return percent == 0 ? 3 : std::min(3 * percent, std::max(percent, kPlenty));
}

struct Check {
  std::string name;
  bool passed = false;
  std::string finding;
};

// Both trainings add the same numbers, but in different orders and with different roundings. After
// this many steps the loss then differs by at most this value. A single wrong sum would change it
// by far more.
double loss_tolerance(const std::string& wire) {
  if (wire == "bfp8") return 0.1;
  return wire == "bfp16" ? 0.01 : 0.001;
}

class Demo final : public Command {
 public:
  std::string_view name() const override { return "demo"; }
  std::string_view summary() const override {
    return "Train a small model on several ranks over a lossy network";
  }

  void declare(Options& options) override {
    options.whole<unsigned>("--ranks", workers_, {1, 64}, "Number of ranks that train together");
    options.real("--loss", loss_percent_, {0, kLossMost}, "Packet loss in percent, each way");
    options.whole<std::size_t>("--steps", steps_, {10, 5000}, "Number of training steps");
    options.choice("--format", wire_, {"native", "digits", "bfp32", "bfp16", "bfp8", "fixed32"},
                   "Wire format of gradients");
    options.whole<std::uint64_t>("--seed", seed_, {0, 1'000'000'000},
                                 "Seed of data, batches, weights and packet losses");
    options.path("--out", out_, "File of the picture, in SVG");
    options.examples(
        "  infold demo --ranks 8 --loss 5            more ranks, a worse network\n"
        "  infold demo --format bfp8 --out bfp8.svg      a quarter of the bytes\n"
        "  infold demo --json | tail -n 1              the result for a program");
  }

  ExitCode run(Output& output) override {
    const std::string path = picture_path();
    if (const auto problem = find_unwritable(path)) {
      return fail(output, "cannot write " + *problem + kChooseAnother);
    }
    const desk::InterruptGuard guard;
    demo::ProcessOptions options;
    options.training.seed = seed_;
    options.training.steps = steps_;
    options.training.hash_step = std::min<std::size_t>(steps_, 30);
    options.workers = workers_;
    options.loss = loss_percent_ / 100;
    options.loss_seed = seed_ + 1;
    options.wire = wire_;
    output.text(
        "{} worker processes and a switch train a model of {} parameters over UDP on this host;\n"
        "every worker's link loses {:g} % of its packets each way. The wire format is {}.\n\n",
        workers_, demo::DigitModel::parameter_count(), loss_percent_, wire_);

    const demo::TrainingResult alone = train(output, "one worker", options, false);
    if (alone.stopped) return stop(output);
    const demo::TrainingResult together =
        train(output, fmt::format("{} workers, infold", workers_), options, true);
    if (together.stopped) return stop(output);
    if (!together.error.empty()) return fail(output, together.error);

    demo::ProcessOptions again = options;
    again.training.steps = options.training.hash_step;
    again.loss = loss_of_repeat(loss_percent_) / 100;
    again.loss_seed = seed_ + 77;
    again.switches = 2;
    const demo::TrainingResult repeat = train(output, "again, two switches", again, true);
    if (repeat.stopped) return stop(output);
    if (!repeat.error.empty()) return fail(output, repeat.error);
    return conclude(output, alone, together, repeat);
  }

 private:
  static demo::TrainingResult train(Output& output, const std::string& title,
                                    const demo::ProcessOptions& options, bool together) {
    TrainingProgress line(output, title, options.training.steps);
    const demo::Progress progress = [&line](const demo::StepReport& report) {
      return line.update(report);
    };
    const demo::TrainingResult result = together ? demo::train_in_processes(options, progress)
                                                 : demo::train_alone(options.training, progress);
    line.end();
    return result;
  }

  std::vector<Check> check(const demo::TrainingResult& alone, const demo::TrainingResult& together,
                           const demo::TrainingResult& repeat) const {
    double difference = 0;
    for (std::size_t i = 0; i < alone.steps.size(); ++i) {
      difference = std::max(difference, std::abs(alone.steps[i].loss - together.steps[i].loss));
    }
    const auto& hashes = together.model_hashes;
    const bool same = std::all_of(hashes.begin(), hashes.end(),
                                  [&](std::uint64_t hash) { return hash == hashes[0]; });
    return {
        {"integer sum", together.wrong_sums == 0,
         together.wrong_sums == 0
             ? fmt::format("{} sums equal to plain addition, on every worker",
                           demo::DigitModel::parameter_count())
             : fmt::format("{} of all workers' sums differ from plain addition",
                           together.wrong_sums)},
        {"same model everywhere", same,
         same ? "parameters are equal on all workers, bit for bit" : "parameters differ"},
        {"same bits again", repeat.model_hashes[0] == together.hash_at_step,
         fmt::format("{} steps over two switches, {} packets lost: {}", repeat.steps.size(),
                     repeat.packets.lost,
                     repeat.model_hashes[0] == together.hash_at_step ? "equal, bit for bit"
                                                                     : "different bits")},
        {"same as one worker", difference <= loss_tolerance(wire_),
         fmt::format("losses differ by at most {:.2g}; {:g} is allowed", difference,
                     loss_tolerance(wire_))},
    };
  }

  ExitCode conclude(Output& output, const demo::TrainingResult& alone,
                    const demo::TrainingResult& together, const demo::TrainingResult& repeat) {
    const std::vector<Check> checks = check(alone, together, repeat);
    const bool passed =
        std::all_of(checks.begin(), checks.end(), [](const Check& each) { return each.passed; });
    print_table(output, alone, together);
    for (const Check& each : checks) {
      output.text("  {}  {:<23} {}\n", each.passed ? "ok  " : "FAIL", each.name, each.finding);
    }
    const std::string path = picture_path();
    const std::string picture = demo::draw_demo_plot(
        {static_cast<int>(workers_), loss_percent_, wire_, alone.steps, together.steps});
    if (const auto problem = write_file(path, picture)) {
      return fail(output, "cannot write " + *problem + kChooseAnother);
    }
    output.text("\npicture: {}\n", path);
    print_object(output, alone, together, checks, path);
    return passed ? ExitCode::kDone : ExitCode::kFailed;
  }

  void print_table(Output& output, const demo::TrainingResult& alone,
                   const demo::TrainingResult& together) const {
    const demo::PacketCounts& packets = together.packets;
    const double passed = static_cast<double>(std::max<std::int64_t>(packets.passed, 1));
    output.text("\n{:24}{:>16}{:>16}\n", "", "one worker", fmt::format("{} workers", workers_));
    output.text("{:24}{:>16.4f}{:>16.4f}\n", "loss, first step", alone.steps.front().loss,
                together.steps.front().loss);
    output.text("{:24}{:>16.4f}{:>16.4f}\n", "loss, last step", alone.steps.back().loss,
                together.steps.back().loss);
    output.text("{:24}{:>14.1f} %{:>14.1f} %\n", "accuracy, new images", alone.accuracy * 100,
                together.accuracy * 100);
    output.text("{:24}{:>14.1f} s{:>14.1f} s\n", "time", alone.seconds, together.seconds);
    output.text("{:24}{:>16}{:>16}\n", "packets sent", "", packets.passed);
    output.text("{:24}{:>16}{:>16}\n", "packets lost", "",
                fmt::format("{} ({:.2f} %)", packets.lost,
                            100 * static_cast<double>(packets.lost) / passed));
    output.text("{:24}{:>16}{:>16}\n", "packets recovered", "", "all");
    output.text("{:24}{:>16}{:>16}\n", "packets retransmitted", "", packets.resent);
    output.text("{:24}{:>16}{:>16}\n\n", "queries, 32 bytes", "", packets.asked);
  }

  void print_object(Output& output, const demo::TrainingResult& alone,
                    const demo::TrainingResult& together, const std::vector<Check>& checks,
                    const std::string& path) const {
    nlohmann::ordered_json object = {{"event", "result"},
                                     {"workers", workers_},
                                     {"wire", wire_},
                                     {"steps", steps_},
                                     {"parameters", demo::DigitModel::parameter_count()},
                                     {"loss_alone", alone.steps.back().loss},
                                     {"loss_together", together.steps.back().loss},
                                     {"accuracy_alone", alone.accuracy},
                                     {"accuracy_together", together.accuracy},
                                     {"seconds_alone", alone.seconds},
                                     {"seconds_together", together.seconds},
                                     {"packets_sent", together.packets.passed},
                                     {"packets_lost", together.packets.lost},
                                     {"packets_resent", together.packets.resent},
                                     {"packets_asked", together.packets.asked},
                                     {"picture", path}};
    for (const Check& each : checks) {
      object["checks"].push_back(
          {{"name", each.name}, {"passed", each.passed}, {"finding", each.finding}});
    }
    output.object(object);
  }

  std::string picture_path() const { return out_.empty() ? "infold-demo.svg" : out_; }

  static ExitCode stop(Output& output) {
    output.log("stopped on request; nothing was written\n");
    return ExitCode::kFailed;
  }
  static ExitCode fail(Output& output, const std::string& reason) {
    output.log("infold demo: {}\n", reason);
    return ExitCode::kFailed;
  }

  unsigned workers_ = 4;
  double loss_percent_ = 1;
  std::size_t steps_ = 400;
  std::string wire_ = "native";
  std::uint64_t seed_ = 1;
  std::string out_ = "infold-demo.svg";
};

}  // namespace

std::unique_ptr<Command> make_demo_command() { return std::make_unique<Demo>(); }

}  // namespace infold::cli
