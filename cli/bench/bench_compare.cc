// SPDX-License-Identifier: Apache-2.0
//
// infold bench compare: measures infold, Gloo and Open MPI in turn, on the links of a lab or on one
// host. A machine's speed drifts by more than the differences that we want to see. Each round
// therefore measures every implementation once, and the report compares medians over rounds.

#include <cerrno>
#include <chrono>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sstream>
#include <stdexcept>
#include <string>
#include <sys/socket.h>
#include <unistd.h>

#include "cli/bench/compare_report.h"
#include "cli/bench/this_machine.h"
#include "cli/commands.h"
#include "cli/line/quantity.h"
#include "cli/line/whole_file.h"
#include "io/host/file_descriptor.h"
#include "study/desk/interrupt.h"
#include "study/measure/compare/compare_lab.h"

namespace infold::cli {
namespace {

// Above this load, another program is using a good part of a core.
constexpr double kQuietLoad = 0.5;

std::string now_utc() {
  const std::time_t now = std::time(nullptr);
  std::tm parts = {};
  gmtime_r(&now, &parts);
  char text[32];
  std::strftime(text, sizeof(text), "%Y-%m-%d %H:%M UTC", &parts);
  return text;
}

// Returns the names that follow the prefix "infold-", or those of rivals if it is empty.
std::vector<std::string> names_in(std::string_view prefix) {
  std::vector<std::string> names;
  for (const std::string& name : measure::implementation_names()) {
    if (name.starts_with("infold-") == prefix.empty()) continue;
    names.push_back(name.substr(prefix.size()));
  }
  return names;
}

// Asking for an algorithm loads its module if the caller is root.
bool lacks_congestion_algorithm(const std::string& name) {
  const io::FileDescriptor any(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  return setsockopt(any.get(), IPPROTO_TCP, TCP_CONGESTION, name.data(),
                    static_cast<socklen_t>(name.size())) != 0 &&
         errno == ENOENT;
}

// On a terminal, shows one line that changes in place; elsewhere prints a line for each run.
class Progress {
 public:
  Progress(Output& output, std::size_t runs)
      : output_(output), runs_(runs), live_(isatty(STDERR_FILENO) != 0) {}

  void begin(const measure::Implementation& implementation, std::uint64_t world,
             std::uint64_t bytes, unsigned round) {
    ++run_;
    title_ = fmt::format("[{:>3}/{}] {} ranks, {:>7}, round {}, {}", run_, runs_, world,
                         measure::size_text(bytes), round, implementation.name);
    if (live_) output_.log("\r\x1b[K{} ... {}", title_, left());
  }
  void end(const measure::Sample& sample) {
    const std::string outcome =
        sample.error.empty() ? fmt::format("{:.3f} ms", sample.measured.value("median_ms", 0.0))
                             : "FAILED: " + sample.error;
    output_.log("{}{}: {}\n", live_ ? "\r\x1b[K" : "", title_, outcome);
  }

 private:
  std::string left() const {
    if (run_ < 4) return "";
    const std::chrono::duration<double> passed = std::chrono::steady_clock::now() - start_;
    const double seconds =
        passed.count() / static_cast<double>(run_ - 1) * static_cast<double>(runs_ - run_ + 1);
    return fmt::format("about {:.0f} min left", seconds / 60 + 0.5);
  }

  Output& output_;
  std::size_t runs_;
  bool live_;
  std::size_t run_ = 0;
  std::string title_;
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

class BenchCompare final : public Command {
 public:
  std::string_view name() const override { return "bench compare"; }
  std::string_view summary() const override {
    return "Measure infold beside Gloo and Open MPI, in turn, on links of a lab or on one host";
  }

  void declare(Options& options) override {
    options.whole_list("--ranks", wanted_.worlds, {2, 64}, "Numbers of ranks");
    options.flag(
        "--one-host", wanted_.one_host,
        "Run all ranks on this host, without a lab and root; infold sums in shared memory");
    options.flag("--apart", wanted_.apart,
                 "Keep each rank on a processor of its own, and the switch on those that are left");
    options.text(
        "--link", wanted_.rate,
        "Rate of each link in each direction, 1mbit or more; none for links without a limit");
    options.whole<std::uint32_t>("--mtu", wanted_.mtu, {1280, 9000}, "MTU of all links in bytes");
    options.real("--loss", wanted_.loss, {0, 0.5},
                 "Probability that a link loses a packet, each way");
    options.text("--congestion", wanted_.congestion, "Congestion control of TCP");
    options.bytes_list("--bytes", wanted_.bytes, {4, 1'000'000'000},
                       "Sizes of the f32 tensor in bytes");
    options.text_list(
        "--infold", ours_,
        "Variants of infold: native, bfp32, bfp16, bfp8, workers-native, blocks-native, "
        "automatic-native, ...; or none");
    options.text_list(
        "--rivals", rivals_,
        "Other libraries: gloo-ring, gloo-ring4, gloo-hd, gloo-oneshot, gloo-union, gloo-coo, "
        "openmpi, openmpi-oneshot; or none");
    options.real("--zeros", wanted_.zeros.share, {0, 1},
                 "Share of each tensor that is zeros; each rank has other rows of 256 zeros");
    options.flag("--zeros-at-end", wanted_.zeros.at_end,
                 "Put the zeros at the end of every rank's tensor");
    options.whole<unsigned>("--rounds", wanted_.rounds, {1, 100},
                            "Rounds; each round measures every variant once");
    options.whole<unsigned>("--iterations", wanted_.iterations, {0, 100'000},
                            "Sums in each round; 0 takes about a second");
    options.path("--out", out_, "Folder for results.json, table.txt and pictures", "FOLDER");
    options.examples(
        "  ./dev bench compare --one-host --ranks 2 --bytes 25MiB --rivals gloo-ring\n"
        "  ./dev bench compare --ranks 2,4,8 --link 100mbit --bytes 26214400\n"
        "  ./dev bench compare --ranks 4 --link none --infold native,bfp8 --rounds 7\n"
        "  ./dev bench compare --infold native,blocks-native --rivals gloo-ring,gloo-union --zeros "
        "0.9\n"
        "\n"
        "./dev bench compare first installs and builds the other libraries. The lab needs root.\n"
        "Ctrl-C removes the lab and keeps the measurements.");
  }

  ExitCode run(Output& output) override {
    const std::string problem = understand();
    if (!problem.empty()) {
      output.log("infold bench compare: {}\nTry 'infold bench compare --help'.\n", problem);
      return ExitCode::kBadUsage;
    }
    if (!wanted_.one_host && geteuid() != 0) {
      throw std::runtime_error("the lab's links need root; use sudo, or --one-host");
    }
    // A measurement takes minutes, so it must not find out only at its end where it cannot write.
    std::error_code refused;
    std::filesystem::create_directories(out_, refused);
    if (const auto unwritable =
            refused ? out_ + ": " + refused.message() : find_unwritable(out_ + "/results.json")) {
      output.log("infold bench compare: --out {}\n", *unwritable);
      return ExitCode::kFailed;
    }
    const desk::InterruptGuard guard;
    Comparison comparison;
    comparison.conditions = wanted_;
    comparison.command = command_line();
    comparison.machine = this_machine();
    comparison.started = now_utc();
    comparison.load_before = load();
    if (comparison.load_before > kQuietLoad) {
      output.log(
          "infold bench compare: this machine is busy (load {:.1f}), so the figures will be high\n",
          comparison.load_before);
    }
    measure(output, comparison);
    write(output, comparison);
    if (!comparison.complete) {
      output.log("stopped on request; the measurements are in {}\n", out_);
      return ExitCode::kFailed;
    }
    for (const measure::Sample& sample : comparison.samples) {
      if (!sample.error.empty()) return ExitCode::kFailed;
    }
    return ExitCode::kDone;
  }

 private:
  // Checks the options and fills in defaults. Returns an error message, or an empty text.
  std::string understand() {
    const measure::Conditions usual;
    if (wanted_.one_host &&
        (wanted_.rate != usual.rate || wanted_.mtu != usual.mtu || wanted_.loss != usual.loss ||
         wanted_.congestion != usual.congestion)) {
      return "--one-host has no links; leave out --link, --mtu, --loss and --congestion";
    }
    if (!wanted_.one_host && wanted_.rate != "none") {
      const auto rate = parse_rate(wanted_.rate);
      if (!rate || *rate < 1e6) {
        return fmt::format("--link must be none, or a rate of 1mbit or more, not '{}'{}",
                           wanted_.rate, hint_of_rate(wanted_.rate));
      }
      wanted_.bits_per_second = *rate;
    }
    if (!wanted_.one_host && lacks_congestion_algorithm(wanted_.congestion)) {
      return fmt::format(
          "--congestion {0}: this kernel lacks it and has no module tcp_{0}; every Linux has reno, "
          "and most have cubic",
          wanted_.congestion);
    }
    for (const std::uint64_t bytes : wanted_.bytes) {
      if (bytes % sizeof(float) == 0) continue;
      return fmt::format("--bytes {}: an element of f32 has {} bytes; choose a multiple of them",
                         bytes, sizeof(float));
    }
    wanted_.implementations.clear();
    for (const auto& [option, list, prefix] :
         {std::tuple("--infold", &ours_, "infold-"), std::tuple("--rivals", &rivals_, "")}) {
      if (*list == std::vector<std::string>{"none"}) continue;
      for (const std::string& word : *list) {
        const auto found =
            measure::implementation_of(word.starts_with(prefix) ? word : prefix + word);
        if (found && found->way == measure::Way::openmpi && wanted_.apart) {
          return fmt::format("--apart: mpirun places the ranks of {}; name other rivals", word);
        }
        if (!found || found->is_ours() != (*prefix != '\0')) {
          return fmt::format("{}: there is no '{}'; choose from {}", option, word,
                             fmt::join(names_in(prefix), ", "));
        }
        wanted_.implementations.push_back(*found);
      }
    }
    return wanted_.implementations.empty() ? "--infold and --rivals name nothing to measure" : "";
  }

  std::string command_line() const {
    std::string command = fmt::format(
        "infold bench compare --ranks {} {} --bytes {} --infold {} --rivals {} --rounds {}",
        fmt::join(wanted_.worlds, ","),
        wanted_.one_host ? "--one-host"
                         : fmt::format("--link {} --mtu {}", wanted_.rate, wanted_.mtu),
        fmt::join(wanted_.bytes, ","), fmt::join(ours_, ","), fmt::join(rivals_, ","),
        wanted_.rounds);
    if (wanted_.apart) command += " --apart";
    if (wanted_.loss > 0) command += fmt::format(" --loss {:g}", wanted_.loss);
    if (wanted_.congestion != "cubic") command += " --congestion " + wanted_.congestion;
    if (wanted_.zeros.share > 0) command += fmt::format(" --zeros {:g}", wanted_.zeros.share);
    if (wanted_.zeros.at_end) command += " --zeros-at-end";
    if (wanted_.iterations > 0) command += fmt::format(" --iterations {}", wanted_.iterations);
    return command;
  }

  void measure(Output& output, Comparison& comparison) const {
    const auto& all = wanted_.implementations;
    Progress progress(output,
                      wanted_.worlds.size() * wanted_.bytes.size() * wanted_.rounds * all.size());
    measure::CompareLab lab(wanted_, measure::Places::find());
    for (const std::uint64_t world : wanted_.worlds) {
      lab.up(world);
      for (unsigned round = 1; round <= wanted_.rounds; ++round) {
        for (const std::uint64_t bytes : wanted_.bytes) {
          for (std::size_t turn = 0; turn < all.size(); ++turn) {
            // The order rotates, so that no implementation always follows the same other one.
            const measure::Implementation& each = all[(turn + round - 1) % all.size()];
            progress.begin(each, world, bytes, round);
            const measure::Sample sample = lab.measure(each, bytes, round);
            if (desk::InterruptGuard::interrupted()) return;
            progress.end(sample);
            output.object({{"event", "sample"},
                           {"impl", sample.impl},
                           {"round", round},
                           {"error", sample.error},
                           {"measured", sample.measured}});
            comparison.samples.push_back(sample);
          }
        }
      }
      lab.down();
    }
    comparison.complete = true;
  }

  void write(Output& output, const Comparison& comparison) const {
    const std::filesystem::path folder = out_;
    create_directories(folder);
    const auto write_file = [&](const std::string& name, const std::string& text) {
      std::ofstream file(folder / name);
      file << text;
      file.close();
      if (!file) throw std::runtime_error("cannot write " + (folder / name).string());
    };
    const std::string table = comparison_table(comparison);
    write_file("results.json", comparison_json(comparison).dump(1) + "\n");
    write_file("table.txt", table);
    std::string pictures;
    for (const std::uint64_t world : wanted_.worlds) {
      const std::string name = fmt::format("time-{}-ranks.svg", world);
      write_file(name, draw_times(comparison, world));
      pictures += " " + name;
    }
    if (wanted_.worlds.size() > 1) {
      write_file("goodput.svg", draw_goodput(comparison));
      pictures += " goodput.svg";
    }
    output.text("{}\nin {}: results.json table.txt{}\n", table, out_, pictures);
    for (const measure::Summary& each : measure::summarise(wanted_, comparison.samples)) {
      nlohmann::ordered_json object = {{"event", "summary"}};
      object.update(summary_json(each));
      output.object(object);
    }
  }

  measure::Conditions wanted_;
  std::vector<std::string> ours_ = {"native"};
  std::vector<std::string> rivals_ = {"gloo-ring", "gloo-hd", "gloo-oneshot", "openmpi"};
  std::string out_ = "infold-compare";
};

}  // namespace

std::unique_ptr<Command> make_bench_compare_command() { return std::make_unique<BenchCompare>(); }

}  // namespace infold::cli
