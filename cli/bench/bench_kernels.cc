// SPDX-License-Identifier: Apache-2.0
//
// infold bench kernels: the speed of numeric kernels on one thread. Each kernel is compared with a
// memcpy of the same bytes of tensor, or with reading them if the kernel does little else. The two
// alternate sample by sample, so that other load on the machine slows both. The ratio is the median
// of the samples' ratios.

#include <algorithm>
#include <array>
#include <cstring>
#include <functional>
#include <numeric>
#include <string>
#include <vector>

#include "base/aligned.h"
#include "base/check.h"
#include "cli/commands.h"
#include "study/measure/cost/kernel_case.h"
#include "study/measure/cost/processor_time.h"
#include "study/measure/cost/spread.h"

namespace infold::cli {
namespace {

struct Place {
  const char* name;
  // The total size of the kernel's buffers. A quarter of a MiB leaves room for the copy's buffers
  // in the second-level cache of a server core. 256 MiB do not fit in any cache.
  std::size_t bytes;
};
constexpr Place kPlaces[] = {{"cache", std::size_t{1} << 18}, {"memory", std::size_t{1} << 28}};

// A sample covers at least this many bytes of tensor, so that reading the clock costs little in
// comparison.
constexpr std::size_t kSampleBytesMin = std::size_t{1} << 22;
constexpr std::size_t kSamplesMin = 5;
constexpr std::size_t kSamplesMax = 1001;

// The call goes through a pointer that may change, because compilers would otherwise remove a copy
// whose target is never read.
void* (*volatile copy_bytes)(void*, const void*, std::size_t) = std::memcpy;

// Reads memory at full speed, with any vector instructions. Reading one word of a cache line loads
// the line. The loop reads eight pages at a time, because processors prefetch within each page.
std::uint64_t read_lines(const std::byte* bytes, std::size_t count) {
  constexpr std::size_t kLine = 64;
  constexpr std::size_t kPage = 4096;
  std::array<std::uint64_t, 8> sums = {};
  for (std::size_t first = 0; first + sums.size() * kPage <= count; first += sums.size() * kPage) {
    for (std::size_t at = 0; at < kPage; at += kLine) {
      for (std::size_t i = 0; i < sums.size(); ++i) {
        std::uint64_t word = 0;
        std::memcpy(&word, bytes + first + i * kPage + at, sizeof(word));
        sums[i] |= word;
      }
    }
  }
  return std::accumulate(sums.begin(), sums.end(), std::uint64_t{0}, std::bit_or<>());
}
std::uint64_t (*volatile read_bytes)(const std::byte*, std::size_t) = read_lines;

struct Speed {
  measure::Spread kernel_gbps;
  measure::Spread beside_gbps;
  const char* beside = "memcpy";
  measure::Spread ratio;
  std::size_t samples = 0;
};

class Contest {
 public:
  explicit Contest(measure::KernelCase kernel)
      : kernel_(std::move(kernel)),
        repeats_((kSampleBytesMin + kernel_.tensor_bytes - 1) / kernel_.tensor_bytes),
        source_(kernel_.tensor_bytes, std::byte{1}),
        target_(kernel_.tensor_bytes, std::byte{2}) {}

  Speed run(double seconds) {
    kernel_pass();
    beside_pass();
    std::vector<double> kernel;
    std::vector<double> beside;
    std::vector<double> ratio;
    const double end = measure::thread_s() + seconds;
    while (kernel.size() < kSamplesMin ||
           (kernel.size() < kSamplesMax && measure::thread_s() < end)) {
      const double start = measure::thread_s();
      kernel_pass();
      const double middle = measure::thread_s();
      beside_pass();
      const double kernel_seconds = middle - start;
      const double beside_seconds = measure::thread_s() - middle;
      kernel.push_back(gigabytes() / kernel_seconds);
      beside.push_back(gigabytes() / beside_seconds);
      ratio.push_back(beside_seconds / kernel_seconds);
    }
    return {measure::spread_of(kernel), measure::spread_of(beside),
            kernel_.mostly_reads ? "read" : "memcpy", measure::spread_of(ratio), kernel.size()};
  }

 private:
  double gigabytes() const { return static_cast<double>(repeats_ * kernel_.tensor_bytes) * 1e-9; }
  void kernel_pass() {
    for (std::size_t i = 0; i < repeats_; ++i) kernel_.pass();
  }
  void beside_pass() {
    for (std::size_t i = 0; i < repeats_; ++i) {
      if (kernel_.mostly_reads) {
        read_bytes(source_.data(), source_.size());
      } else {
        copy_bytes(target_.data(), source_.data(), source_.size());
      }
    }
  }

  measure::KernelCase kernel_;
  std::size_t repeats_;
  base::CacheLineVector<std::byte> source_;
  base::CacheLineVector<std::byte> target_;
};

class BenchKernels final : public Command {
 public:
  std::string_view name() const override { return "bench kernels"; }
  std::string_view summary() const override {
    return "Measure numeric kernels on one thread, each beside a memcpy of the same bytes";
  }

  void declare(Options& options) override {
    options.text("--kernel", kernel_, "Only kernels whose name contains this, such as 'to bfp32'");
    options.choice("--buffers", place_, {"all", "cache", "memory"},
                   "Buffers of 256 KiB, which stay in cache, or of 256 MiB");
    options.text("--target", target_, "An instruction set, scalar, all, or best");
    options.real("--seconds", seconds_, {0.001, 60}, "Time for each kernel and place");
    options.examples(
        "  infold bench kernels --kernel f32 --buffers cache\n"
        "  infold bench kernels --kernel 'add i32' --target all --seconds 1 --json\n");
  }

  ExitCode run(Output& output) override {
    std::vector<const numeric::KernelSet*> sets;
    for (const numeric::KernelSet& set : numeric::supported_kernels()) {
      const bool best = target_ == "best" && &set == &numeric::kernels();
      if (best || target_ == "all" || target_ == set.name) sets.push_back(&set);
    }
    if (sets.empty()) return refuse_target(output);
    std::vector<measure::KernelBench> benches = measure::kernel_benches();
    std::erase_if(benches, [this](const measure::KernelBench& bench) {
      return bench.name.find(kernel_) == std::string::npos;
    });
    if (benches.empty()) return refuse_kernel(output);

    output.text(
        "GB/s of tensor on one thread; ratio to a memcpy of the same bytes, of 'find' to reading "
        "them, with its MAD\n");
    output.text("{:<27} {:<6} {:<9} {:>7} {:>7} {:>6} {:>6}\n", "kernel", "place", "target", "GB/s",
                "beside", "ratio", "MAD");
    for (const measure::KernelBench& bench : benches) {
      for (const Place& place : kPlaces) {
        if (place_ != "all" && place_ != place.name) continue;
        for (const numeric::KernelSet* set : sets) {
          const Speed speed = Contest(bench.make(*set, place.bytes)).run(seconds_);
          print(output, bench.name, place, *set, speed);
        }
      }
    }
    return ExitCode::kDone;
  }

 private:
  static void print(Output& output, const std::string& kernel, const Place& place,
                    const numeric::KernelSet& set, const Speed& speed) {
    output.text("{:<27} {:<6} {:<9} {:>7.2f} {:>7.2f} {:>6.2f} {:>6.2f}\n", kernel, place.name,
                set.name, speed.kernel_gbps.median, speed.beside_gbps.median, speed.ratio.median,
                speed.ratio.mad);
    output.object({{"kernel", kernel},
                   {"place", place.name},
                   {"target", set.name},
                   {"gbps", speed.kernel_gbps.median},
                   {"gbps_mad", speed.kernel_gbps.mad},
                   {"beside_gbps", speed.beside_gbps.median},
                   {"beside_gbps_mad", speed.beside_gbps.mad},
                   {"beside", speed.beside},
                   {"ratio", speed.ratio.median},
                   {"ratio_mad", speed.ratio.mad},
                   {"samples", speed.samples}});
  }

  ExitCode refuse_target(Output& output) const {
    std::string names;
    for (const numeric::KernelSet& set : numeric::supported_kernels()) {
      names += ", " + std::string(set.name);
    }
    output.log("infold bench kernels: --target is '{}', but must be best, all{}\n", target_, names);
    return ExitCode::kBadUsage;
  }

  ExitCode refuse_kernel(Output& output) const {
    std::string names;
    for (const measure::KernelBench& bench : measure::kernel_benches())
      names += "\n  " + bench.name;
    output.log("infold bench kernels: --kernel is '{}', but must be part of one of{}\n", kernel_,
               names);
    return ExitCode::kBadUsage;
  }

  std::string kernel_;
  std::string place_ = "all";
  std::string target_ = "best";
  double seconds_ = 0.2;
};

}  // namespace

std::unique_ptr<Command> make_bench_kernels_command() { return std::make_unique<BenchKernels>(); }

}  // namespace infold::cli
