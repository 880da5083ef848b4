// SPDX-License-Identifier: Apache-2.0
//
// infold bench allreduce: one rank of a job that repeats sums of several sizes. Every rank runs the
// same command. Rank 0 reports, in infold's own table or in the format of nccl-tests.

#include <algorithm>
#include <cmath>
#include <numeric>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <infold/communicator.h>

#include "cli/bench/allreduce_timing.h"
#include "cli/bench/nccl_table.h"
#include "cli/commands.h"
#include "cli/line/join_flags.h"
#include "cli/line/quantity.h"
#include "study/desk/interrupt.h"

namespace infold::cli {
namespace {

constexpr Range<std::uint64_t> kSizes = {4, std::uint64_t{1} << 32};
// The first size is a single element, whatever its type.
const std::vector<std::uint64_t> kUsualSizes = {4, 4096, 65536, 1048576, 26214400};

struct NcclName {
  const char* nccl;
  const char* ours;
};
constexpr NcclName kTypes[] = {{"float", "f32"}, {"double", "f64"}, {"int32", "i32"}};

std::string nccl_type(const std::string& ours) {
  return std::ranges::find(kTypes, ours, &NcclName::ours)->nccl;
}

Reduction reduction_of(const std::string& nccl) {
  if (nccl == "avg") return Reduction::average;
  if (nccl == "min") return Reduction::min;
  return nccl == "max" ? Reduction::max : Reduction::sum;
}

double mean(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

std::string path_text(const Communicator& communicator) {
  const Statistics statistics = communicator.statistics();
  if (statistics.ranks_in_memory == 0) {
    return fmt::format("path: the network, from {}", communicator.interface());
  }
  if (statistics.contributions_on_network == 0) return "path: shared memory of one host";
  return fmt::format(
      "path: {} of {} ranks sum in shared memory first; {} contributions on the network",
      statistics.ranks_in_memory, communicator.world(), statistics.contributions_on_network);
}

class BenchAllreduce final : public Command {
 public:
  std::string_view name() const override { return "bench allreduce"; }
  std::string_view summary() const override {
    return "Sum tensors with other ranks over the network, and measure the time";
  }

  void declare(Options& options) override {
    join_.declare(options);
    options.bytes_list("--bytes", bytes_, kSizes,
                       "Sizes of the tensor in bytes, multiples of an element; without this option "
                       "one element, 4096, 65536, 1048576 and 26214400");
    declare_nccl_sizes(options);
    options.choice("-d,--dtype,--datatype", calls_.dtype,
                   {"f32", "f64", "i32", "float", "double", "int32"}, "Element type of the tensor");
    options.choice("-o,--op", operation_, {"sum", "avg", "min", "max"},
                   "Reduction of the elements");
    options.choice(
        "--format", calls_.wire, wire_names(),
        "Wire format of floats; automatic is native, or digits where a site lacks native");
    options.whole<std::uint64_t>("-n,--iterations,--iters", calls_.iterations, {0, 1'000'000},
                                 "Timed calls for each size; 0 lets the size decide");
    options.whole<std::uint64_t>("-w,--warmup-iterations,--warmup_iters", calls_.warm_ups,
                                 {0, 1'000'000},
                                 "Untimed calls before them; without this option a tenth, 1 to 10");
    options.choice(
        "--layout", layout_, {"dense", "blocks", "rows", "automatic"},
        "dense sends all elements; blocks leaves out blocks of zeros; rows sends the given "
        "rows; automatic lets the ranks decide");
    options.real("--zeros", calls_.zeros.share, {0, 1},
                 "Share of each tensor that is zeros; each rank has other rows of zeros");
    options.whole<std::size_t>("--row", calls_.zeros.row_elements, {1, 1 << 20},
                               "Elements in a row");
    options.flag("--zeros-at-end", calls_.zeros.at_end,
                 "Put the zeros at the end of every rank's tensor");
    options.flag("--in-place", in_place_, "Write the sum into the input's memory");
    options.toggle("-c,--check", check_,
                   "1 compares every element of the last sum with the right one; without this "
                   "option 0, and 1 in the table of nccl-tests");
    options.examples(
        "  infold bench allreduce --switch 10.0.0.1:7700 --rank 0 --ranks 4\n"
        "  infold bench allreduce --switch 10.0.0.1:7700 --rank 0 --ranks 4 -b 8 -e 128M -f 2\n"
        "  infold bench allreduce --switch 10.0.0.1:7700 --rank 0 --ranks 4 --layout blocks "
        "--zeros 0.9\n"
        "  infold bench allreduce --switch 10.0.0.1:7700 --rank 0 --ranks 4 --layout rows "
        "--zeros 0.99\n"
        "  torchrun --no-python --nproc-per-node 4 infold bench allreduce --check\n"
        "\n"
        "-b, -e, -i and -f choose the table of nccl-tests. Its times are the means of rank 0. Its\n"
        "busbw is algbw x 2 (n - 1) / n, as in nccl-tests, so rows can be compared. The formula\n"
        "counts the bytes of a ring. With a switch, a link of infold carries the tensor once each\n"
        "way, which is fewer bytes.");
  }

  ExitCode run(Output& output) override {
    if (const std::string problem = understand(); !problem.empty()) {
      output.log("infold bench allreduce: {}\n", problem);
      return ExitCode::kBadUsage;
    }
    if (const auto complete = join_.complete(); !complete) {
      output.log("infold bench allreduce: {}\n", complete.error().message);
      return ExitCode::kBadUsage;
    }
    const desk::InterruptGuard guard;
    const desk::InterruptStop stop(guard);
    Result<Communicator> joined = join_.join(stop.token(), wire_of(calls_.wire));
    if (!joined) return fail(output, joined.error().message);
    Communicator communicator = std::move(*joined);
    const std::string problem = nccl_sizes_.are_wanted()
                                    ? run_nccl(output, communicator, stop.token())
                                    : run_ours(output, communicator, stop.token());
    return problem.empty() ? ExitCode::kDone : fail(output, problem);
  }

 private:
  void declare_nccl_sizes(Options& options) {
    options.bytes("-b,--minbytes", nccl_sizes_.low, kSizes,
                  "Smallest size, as in nccl-tests; without this option the largest, or 32M");
    options.bytes("-e,--maxbytes", nccl_sizes_.high, kSizes,
                  "Largest size; without this option the smallest");
    options.bytes("-i,--stepbytes", nccl_sizes_.step_bytes, kSizes,
                  "Bytes from each size to the next; without this option 1M");
    options.whole<std::uint32_t>("-f,--stepfactor", nccl_sizes_.step_factor, {1, 1024},
                                 "Factor from each size to the next; 1 means --stepbytes");
    for (const char* each : {"--minbytes", "--maxbytes", "--stepbytes", "--stepfactor"}) {
      options.exclude("--bytes", each);
    }
  }

  // Checks the options and fills in defaults. Returns an error message, or an empty text.
  std::string understand() {
    for (const NcclName& type : kTypes) {
      if (calls_.dtype == type.nccl) calls_.dtype = type.ours;
    }
    calls_.reduction = reduction_of(operation_);
    calls_.of_rows = layout_ == "rows";
    calls_.layout = layout_ == "automatic" ? Layout::automatic
                    : layout_ == "blocks"  ? Layout::blocks
                                           : Layout::dense;
    const bool is_nccl = nccl_sizes_.are_wanted();
    calls_.check = check_.value_or(is_nccl);
    if (calls_.of_rows && (in_place_ || is_nccl)) {
      return fmt::format(
          "--layout rows: the sum has other rows than the input; drop {}",
          in_place_ ? "--in-place" : "-b, -e, -i and -f, which also measure in place");
    }
    if (in_place_ && is_nccl) return "the table of nccl-tests measures both ways; drop --in-place";
    const bool is_extreme =
        calls_.reduction == Reduction::min || calls_.reduction == Reduction::max;
    if (is_extreme && (calls_.of_rows || calls_.layout == Layout::blocks)) {
      return fmt::format(
          "--layout {}: zeros count under --op {}, so that none can be left out; choose --layout "
          "dense, or --op sum",
          layout_, operation_);
    }
    if (calls_.travels_as_it_is() && !calls_.wire.empty() && calls_.wire != "automatic") {
      const bool is_integer = calls_.dtype == "i32";
      return fmt::format("--format {}: packets carry {} unchanged; drop --format, or choose {}",
                         calls_.wire, is_integer ? "integers" : "minima and maxima",
                         is_integer ? "--dtype f32" : "--op sum");
    }
    if (is_nccl) {
      const auto sizes = nccl_sizes_.all();
      if (!sizes) return sizes.error();
      bytes_ = *sizes;
      return "";
    }
    return find_split_element();
  }

  // Returns an error message if a size has part of an element, else an empty text.
  std::string find_split_element() {
    const std::uint64_t element = element_bytes(type());
    if (bytes_.empty()) {
      bytes_ = kUsualSizes;
      bytes_.front() = element;
    }
    for (const std::uint64_t bytes : bytes_) {
      if (bytes % element == 0) continue;
      return fmt::format("--bytes {}: an element of {} has {} bytes; choose a multiple of them",
                         bytes, calls_.dtype, element);
    }
    return "";
  }

  static ExitCode fail(Output& output, const std::string& reason) {
    output.log("infold bench allreduce: {}\n", reason);
    return ExitCode::kFailed;
  }

  // Returns why a measurement has no result, or an empty text.
  static std::string problem_with(const Timing& timing) {
    return desk::InterruptGuard::interrupted() ? "stopped on request" : timing.error;
  }

  // Both functions return an error message, or an empty text.
  std::string run_ours(Output& output, Communicator& communicator,
                       const std::stop_token& stop) const {
    if (communicator.rank() == 0) {
      output.text("{}\n", path_text(communicator));
      output.text("{:>12} {:>6} {:>12} {:>12} {:>12} {:>10} {:>8} {:>12}\n", "size", "times",
                  "median ms", "p99 ms", "Mbit/s", "CPU s/GB", "format", "check");
    }
    for (const std::uint64_t bytes : bytes_) {
      const Timing timing = time_allreduces(communicator, calls_, bytes, in_place_, stop);
      if (std::string problem = problem_with(timing); !problem.empty()) return problem;
      if (communicator.rank() == 0) print(output, communicator, bytes, in_place_, timing);
      if (timing.wrong.value_or(0) != 0) return "a sum is wrong";
    }
    return "";
  }

  std::string run_nccl(Output& output, Communicator& communicator,
                       const std::stop_token& stop) const {
    const bool reports = communicator.rank() == 0;
    bool has_head = false;
    std::uint64_t wrong = 0;
    std::vector<double> bus;
    for (const std::uint64_t bytes : bytes_) {
      NcclHalf halves[2];
      std::uint64_t elements = 0;
      for (const bool in_place : {false, true}) {
        const Timing timing = time_allreduces(communicator, calls_, bytes, in_place, stop);
        if (std::string problem = problem_with(timing); !problem.empty()) return problem;
        // The first call tells the format.
        if (reports && !std::exchange(has_head, true)) {
          output.text("# infold bench allreduce: {} ranks, {} as {}, {}\n{}", communicator.world(),
                      calls_.dtype, timing.format, path_text(communicator), nccl_head());
        }
        elements = timing.elements;
        const double seconds = mean(timing.seconds);
        const std::uint64_t size = elements * element_bytes(type());
        halves[in_place ? 1 : 0] = {seconds, nccl_speed(size, seconds, communicator.world()),
                                    timing.wrong};
        bus.push_back(halves[in_place ? 1 : 0].speed.bus);
        wrong += timing.wrong.value_or(0);
        if (reports) print_object(output, communicator, bytes, in_place, timing);
      }
      if (reports) {
        output.text("{}", nccl_row(elements * element_bytes(type()), elements,
                                   nccl_type(calls_.dtype), operation_, halves[0], halves[1]));
      }
      if (wrong != 0) break;
    }
    if (reports) {
      output.text("{}", nccl_tail(wrong, bus));
      output.object({{"impl", "infold"}, {"average_busbw_gb_per_s", mean(bus)}, {"wrong", wrong}});
    }
    return wrong == 0 ? "" : "a sum is wrong";
  }

  DataType type() const {
    if (calls_.dtype == "f64") return DataType::f64;
    return calls_.dtype == "i32" ? DataType::i32 : DataType::f32;
  }

  struct Figures {
    double median = 0;  // in seconds
    double p99 = 0;
    double mbps = 0;
    measure::ProcessorTime cpu_per_gb;
    const char* verdict = "not checked";
  };
  static Figures figures_of(std::uint64_t bytes, const Timing& timing) {
    std::vector<double> sorted = timing.seconds;
    std::sort(sorted.begin(), sorted.end());
    Figures figures;
    figures.median = sorted[sorted.size() / 2];
    figures.p99 = sorted[std::min(sorted.size() - 1, sorted.size() * 99 / 100)];
    figures.mbps = static_cast<double>(bytes) * 8 / figures.median / 1e6;
    const double gigabytes = static_cast<double>(bytes) * static_cast<double>(sorted.size()) / 1e9;
    figures.cpu_per_gb = timing.cpu / gigabytes;
    if (timing.wrong) figures.verdict = *timing.wrong == 0 ? "ok" : "wrong";
    return figures;
  }

  void print(Output& output, const Communicator& communicator, std::uint64_t bytes, bool in_place,
             const Timing& timing) const {
    const Figures figures = figures_of(bytes, timing);
    output.text("{:>12} {:>6} {:>12.4f} {:>12.4f} {:>12.1f} {:>10.3f} {:>8} {:>12}\n",
                short_bytes(bytes), timing.seconds.size(), figures.median * 1e3, figures.p99 * 1e3,
                figures.mbps, figures.cpu_per_gb.all_s(), timing.format, figures.verdict);
    print_object(output, communicator, bytes, in_place, timing);
  }

  void print_object(Output& output, const Communicator& communicator, std::uint64_t bytes,
                    bool in_place, const Timing& timing) const {
    const Figures figures = figures_of(bytes, timing);
    const double seconds = mean(timing.seconds);
    const NcclSpeed speed =
        nccl_speed(timing.elements * element_bytes(type()), seconds, communicator.world());
    const Statistics statistics = communicator.statistics();
    output.object({{"impl", "infold"},
                   {"world", communicator.world()},
                   {"bytes", bytes},
                   {"dtype", calls_.dtype},
                   {"op", operation_},
                   {"format", timing.format},
                   {"layout", layout_},
                   {"zeros", calls_.zeros.share},
                   {"in_place", in_place},
                   {"iterations", timing.seconds.size()},
                   {"median_ms", figures.median * 1e3},
                   {"p99_ms", figures.p99 * 1e3},
                   {"mean_us", seconds * 1e6},
                   {"goodput_mbps", figures.mbps},
                   {"algbw_gb_per_s", speed.algorithm},
                   {"busbw_gb_per_s", speed.bus},
                   {"cpu_s_per_gb", figures.cpu_per_gb.all_s()},
                   {"cpu_user_s_per_gb", figures.cpu_per_gb.user_s},
                   {"cpu_system_s_per_gb", figures.cpu_per_gb.system_s},
                   {"packets_sent_together", timing.sent_together},
                   {"packets_received_together", timing.received_together},
                   {"retransmits", timing.resent},
                   {"questions", timing.asked},
                   {"calls_sparse", timing.calls_sparse},
                   {"check", figures.verdict},
                   {"ranks_in_memory", statistics.ranks_in_memory},
                   {"contributions_on_network", statistics.contributions_on_network}});
  }

  JoinFlags join_;
  std::vector<std::uint64_t> bytes_;
  NcclSizes nccl_sizes_;
  Allreduces calls_;
  std::string operation_ = "sum";
  std::string layout_ = "dense";
  bool in_place_ = false;
  std::optional<bool> check_;
};

}  // namespace

std::unique_ptr<Command> make_bench_allreduce_command() {
  return std::make_unique<BenchAllreduce>();
}

}  // namespace infold::cli
