// SPDX-License-Identifier: Apache-2.0
//
// infold bench allreduce: one rank of a job that sums tensors of some sizes over and over. Runs
// the same on every rank; rank 0 reports.

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstring>
#include <numeric>
#include <string>
#include <sys/resource.h>
#include <vector>

#include <fmt/format.h>
#include <infold/communicator.h>

#include "cli/commands.h"
#include "cli/line/join_flags.h"
#include "lab/compare/zeros.h"
#include "lab/interrupt.h"

namespace infold::cli {
namespace {

using Clock = std::chrono::steady_clock;
using lab::Zeros;

// Enough for a median, and few seconds even on slow links.
constexpr std::uint64_t kBytesInAll = 128'000'000;
constexpr std::uint64_t kIterationsMin = 5;
constexpr std::uint64_t kIterationsMax = 1000;

double cpu_seconds() {
  rusage usage = {};
  getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6;
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

// Small whole numbers, so that their sums are exact in every type and any order.
std::int32_t value_at(std::size_t index, int rank) {
  return static_cast<std::int32_t>((index * 7 + static_cast<std::size_t>(rank) * 13) % 1021) - 510;
}

// What rounding to a format's mantissas may change, for values below 510 from each rank.
double tolerance_of(const std::string& wire, int world) {
  const double most = 510.0 * world;
  if (wire == "bfp8") return most / 32;
  return wire == "bfp16" ? most / 8192 : 0;
}

enum class Held : std::uint8_t { whole, in_place, rows };

template <typename T>
class Tensors {
 public:
  Tensors(std::size_t elements, int rank, const lab::ZerosOptions& zeros, Held held)
      : elements_(elements), zeros_(zeros, elements), held_(held) {
    if (held == Held::rows) {
      hold_rows(rank, zeros.row_elements);
      return;
    }
    input_.resize(elements);
    output_.resize(elements);
    for (std::size_t i = 0; i < elements; ++i) {
      if (!zeros_.cover(i, rank)) input_[i] = static_cast<T>(value_at(i, rank));
    }
  }

  // Before each sum in place.
  void make_ready() { output_ = input_; }
  Handle all_reduce(Communicator& communicator, const CallOptions& options) {
    switch (held_) {
      case Held::whole: return communicator.all_reduce(input_, output_, options);
      case Held::in_place: return communicator.all_reduce(output_, options);
      case Held::rows: break;
    }
    return communicator.all_reduce({indices_, input_, elements_ / row_elements_, row_elements_},
                                   rows_, options);
  }

  bool is_right(int world, double tolerance) const {
    const std::vector<T> scattered = held_ == Held::rows ? whole() : std::vector<T>();
    const std::vector<T>& result = held_ == Held::rows ? scattered : output_;
    for (std::size_t i = 0; i < elements_; ++i) {
      double sum = 0;
      for (int rank = 0; rank < world; ++rank) {
        if (!zeros_.cover(i, rank)) sum += value_at(i, rank);
      }
      if (!(std::abs(static_cast<double>(result[i]) - sum) <= tolerance)) return false;
    }
    return true;
  }

 private:
  void hold_rows(int rank, std::size_t row_elements) {
    row_elements_ = std::gcd(elements_, row_elements);
    for (std::size_t first = 0; first < elements_; first += row_elements_) {
      if (zeros_.cover(first, rank)) continue;
      indices_.push_back(static_cast<std::int64_t>(first / row_elements_));
      for (std::size_t i = first; i < first + row_elements_; ++i) {
        input_.push_back(static_cast<T>(value_at(i, rank)));
      }
    }
  }
  std::vector<T> whole() const {
    std::vector<T> tensor(elements_);
    const T* values = static_cast<const T*>(rows_.values().data);
    for (const std::int64_t row : rows_.indices()) {
      std::copy_n(values, row_elements_, &tensor[static_cast<std::size_t>(row) * row_elements_]);
      values += row_elements_;
    }
    return tensor;
  }

  std::size_t elements_;
  Zeros zeros_;
  Held held_;
  std::vector<T> input_;  // the whole tensor, or its rows' values
  std::vector<T> output_;
  std::size_t row_elements_ = 1;
  std::vector<std::int64_t> indices_;
  Rows rows_;
};

struct Timing {
  std::vector<double> seconds;
  double cpu_seconds = 0;
  std::uint64_t resent = 0;
  std::uint64_t asked = 0;
  std::uint64_t without_zeros = 0;  // of the sums
  std::string error;
  bool right = true;
};

class BenchAllreduce final : public Command {
 public:
  std::string_view name() const override { return "bench allreduce"; }
  std::string_view summary() const override {
    return "Sum tensors with other ranks over the network, and time it";
  }

  void declare(Options& options) override {
    join_.declare(options);
    options.bytes_list("--bytes", bytes_, {4, std::uint64_t{1} << 32}, "Sizes of the tensor");
    options.choice("--dtype", dtype_, {"f32", "f64", "i32"}, "Type of its elements");
    options.choice("--wire", wire_, wire_names(), "How floats travel; else bfp32");
    options.whole<std::uint64_t>("--iterations", iterations_, {0, 1'000'000},
                                 "Of each size; 0 chooses by size");
    options.choice("--layout", layout_, {"dense", "blocks", "rows", "automatic"},
                   "Whether zeros are left out, of tensors in memory or given by rows");
    options.real("--zeros", zeros_.share, {0, 1},
                 "Share of each tensor that is zeros, in other rows at each rank");
    options.whole<std::size_t>("--row", zeros_.row_elements, {1, 1 << 20}, "Elements of a row");
    options.flag("--zeros-at-end", zeros_.at_end, "At the end of all tensors, instead");
    options.flag("--in-place", in_place_, "Sum into the input");
    options.flag("--check", check_, "Compare every element of the last sum with the right one");
    options.examples(
        "  infold bench allreduce --switch 10.0.0.1:7700 --rank 0 --world 4\n"
        "  infold bench allreduce --switch 10.0.0.1:7700 --rank 0 --world 4 --layout blocks "
        "--zeros 0.9\n"
        "  infold bench allreduce --switch 10.0.0.1:7700 --rank 0 --world 4 --layout rows "
        "--zeros 0.99\n"
        "  torchrun --no-python --nproc-per-node 4 infold bench allreduce --check");
  }

  ExitCode run(Output& output) override {
    if (in_place_ && layout_ == "rows") {
      output.log("infold bench allreduce: the sum of rows has other rows; drop --in-place\n");
      return ExitCode::kBadUsage;
    }
    if (dtype_ == "i32" && !wire_.empty() && wire_ != "automatic") {
      output.log(
          "infold bench allreduce: --wire {}: integers travel as they are; drop it, or choose "
          "--dtype f32\n",
          wire_);
      return ExitCode::kBadUsage;
    }
    const lab::InterruptGuard guard;
    const lab::InterruptStop stop(guard);
    Result<Communicator> joined = join_.join(stop.token());
    if (!joined) return fail(output, joined.error().message);
    Communicator communicator = std::move(*joined);
    if (communicator.rank() == 0) {
      output.text("{}\n", path_text(communicator));
      output.text("{:>12} {:>6} {:>12} {:>12} {:>12} {:>10} {:>8}\n", "bytes", "times", "median ms",
                  "p99 ms", "Mbit/s", "CPU s/GB", "check");
    }
    for (const std::uint64_t bytes : bytes_) {
      const Timing timing = measure(communicator, bytes, stop.token());
      if (lab::InterruptGuard::interrupted()) return fail(output, "stopped on request");
      if (!timing.error.empty()) return fail(output, timing.error);
      if (communicator.rank() == 0) print(output, communicator, bytes, timing);
      if (!timing.right) return fail(output, "a sum is wrong");
    }
    return ExitCode::kDone;
  }

 private:
  static ExitCode fail(Output& output, const std::string& reason) {
    output.log("infold bench allreduce: {}\n", reason);
    return ExitCode::kFailed;
  }

  static std::string path_text(const Communicator& communicator) {
    const Statistics statistics = communicator.statistics();
    if (statistics.ranks_in_memory == 0) {
      return fmt::format("path: the network, from {}", communicator.interface());
    }
    if (statistics.contributions_on_network == 0) return "path: shared memory of one host";
    return fmt::format(
        "path: {} of {} ranks in shared memory first, {} contributions on the network",
        statistics.ranks_in_memory, communicator.world(), statistics.contributions_on_network);
  }

  std::uint64_t iterations_of(std::uint64_t bytes) const {
    if (iterations_ != 0) return iterations_;
    return std::clamp(kBytesInAll / bytes, kIterationsMin, kIterationsMax);
  }

  Timing measure(Communicator& communicator, std::uint64_t bytes,
                 const std::stop_token& stop) const {
    if (dtype_ == "f64") return measure<double>(communicator, bytes, stop);
    if (dtype_ == "i32") return measure<std::int32_t>(communicator, bytes, stop);
    return measure<float>(communicator, bytes, stop);
  }

  template <typename T>
  Timing measure(Communicator& communicator, std::uint64_t bytes,
                 const std::stop_token& stop) const {
    const auto elements = static_cast<std::size_t>(std::max<std::uint64_t>(1, bytes / sizeof(T)));
    Tensors<T> tensors(elements, communicator.rank(), zeros_, held());
    const CallOptions options = {
        .wire = std::is_integral_v<T> ? WireFormat::automatic : wire_of(wire()),
        .layout = layout()};
    Timing timing;
    const std::uint64_t iterations = iterations_of(bytes);
    const std::uint64_t warm_up = std::clamp<std::uint64_t>(iterations / 10, 1, 10);
    timing.seconds.reserve(iterations);
    double cpu_before = 0;
    double cpu_of_inputs = 0;
    Statistics before;
    for (std::uint64_t i = 0; i < warm_up + iterations; ++i) {
      if (i == warm_up) {
        cpu_before = cpu_seconds();
        cpu_of_inputs = 0;
        before = communicator.statistics();
      }
      if (in_place_) {
        const double cpu_so_far = cpu_seconds();
        tensors.make_ready();
        cpu_of_inputs += cpu_seconds() - cpu_so_far;
      }
      const Clock::time_point start = Clock::now();
      const auto done = lab::wait_or_cancel(tensors.all_reduce(communicator, options), stop);
      if (i >= warm_up) {
        timing.seconds.push_back(std::chrono::duration<double>(Clock::now() - start).count());
      }
      if (!done) {
        timing.error = done.error().message;
        return timing;
      }
      if (lab::InterruptGuard::interrupted()) return timing;
    }
    timing.cpu_seconds = cpu_seconds() - cpu_before - cpu_of_inputs;
    const Statistics after = communicator.statistics();
    timing.resent = after.packets_resent - before.packets_resent;
    timing.asked = after.packets_asked - before.packets_asked;
    timing.without_zeros = after.calls_without_zeros - before.calls_without_zeros;
    if (check_) {
      timing.right = tensors.is_right(communicator.world(), tolerance(communicator));
    }
    return timing;
  }

  Held held() const {
    if (layout_ == "rows") return Held::rows;
    return in_place_ ? Held::in_place : Held::whole;
  }

  Layout layout() const {
    if (layout_ == "automatic") return Layout::automatic;
    return layout_ == "blocks" ? Layout::blocks : Layout::dense;
  }

  std::string wire() const { return wire_.empty() ? "bfp32" : wire_; }

  double tolerance(const Communicator& communicator) const {
    return dtype_ == "i32" ? 0 : tolerance_of(wire(), communicator.world());
  }

  void print(Output& output, const Communicator& communicator, std::uint64_t bytes,
             const Timing& timing) const {
    std::vector<double> sorted = timing.seconds;
    std::sort(sorted.begin(), sorted.end());
    const double median = sorted[sorted.size() / 2];
    const double p99 = sorted[std::min(sorted.size() - 1, sorted.size() * 99 / 100)];
    const double mbps = static_cast<double>(bytes) * 8 / median / 1e6;
    const double cpu = timing.cpu_seconds /
                       (static_cast<double>(bytes) * static_cast<double>(sorted.size()) / 1e9);
    const Statistics statistics = communicator.statistics();
    const char* const verdict = !check_ ? "not checked" : timing.right ? "ok" : "wrong";
    output.text("{:>12} {:>6} {:>12.4f} {:>12.4f} {:>12.1f} {:>10.3f} {:>8}\n", bytes,
                sorted.size(), median * 1e3, p99 * 1e3, mbps, cpu, verdict);
    output.object({{"impl", "infold"},
                   {"world", communicator.world()},
                   {"bytes", bytes},
                   {"dtype", dtype_},
                   {"wire", dtype_ == "i32" ? "i32" : wire()},
                   {"layout", layout_},
                   {"zeros", zeros_.share},
                   {"iterations", sorted.size()},
                   {"median_ms", median * 1e3},
                   {"p99_ms", p99 * 1e3},
                   {"goodput_mbps", mbps},
                   {"cpu_s_per_gb", cpu},
                   {"retransmits", timing.resent},
                   {"questions", timing.asked},
                   {"without_zeros", timing.without_zeros},
                   {"check", verdict},
                   {"ranks_in_memory", statistics.ranks_in_memory},
                   {"contributions_on_network", statistics.contributions_on_network}});
  }

  JoinFlags join_;
  std::vector<std::uint64_t> bytes_ = {4, 4096, 65536, 1048576, 26214400};
  std::string dtype_ = "f32";
  std::string wire_;  // empty: bfp32, where elements are floats
  std::uint64_t iterations_ = 0;
  std::string layout_ = "dense";
  lab::ZerosOptions zeros_;
  bool in_place_ = false;
  bool check_ = false;
};

}  // namespace

std::unique_ptr<Command> make_bench_allreduce_command() {
  return std::make_unique<BenchAllreduce>();
}

}  // namespace infold::cli
