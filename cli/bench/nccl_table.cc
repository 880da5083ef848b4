// SPDX-License-Identifier: Apache-2.0

#include "cli/bench/nccl_table.h"

#include <numeric>

#include <fmt/format.h>

#include "cli/line/quantity.h"

namespace infold::cli {
namespace {

constexpr std::uint64_t kLow = std::uint64_t{32} << 20;
constexpr std::uint64_t kStepBytes = std::uint64_t{1} << 20;
// Nobody reads more rows than this. A step of one byte up to a gigabyte is a typing error.
constexpr std::size_t kSizesMax = 10'000;

// Returns seven characters, with as many decimals as nccl-tests prints.
std::string microseconds(double seconds) {
  const double us = seconds * 1e6;
  return fmt::format("{:7.{}f}", us, us >= 10'000 ? 0 : us >= 100 ? 1 : 2);
}

std::string half_text(const NcclHalf& half) {
  return fmt::format("  {}  {:6.2f}  {:6.2f}  {:>5}", microseconds(half.seconds),
                     half.speed.algorithm, half.speed.bus,
                     half.wrong ? std::to_string(*half.wrong) : "N/A");
}

}  // namespace

tl::expected<std::vector<std::uint64_t>, std::string> NcclSizes::all() const {
  const std::uint64_t first = low.value_or(high.value_or(kLow));
  const std::uint64_t last = high.value_or(first);
  if (first > last) {
    return tl::unexpected(fmt::format("--minbytes {} is more than --maxbytes {}",
                                      short_bytes(first), short_bytes(last)));
  }
  const std::uint64_t factor = step_factor.value_or(1);
  const std::uint64_t step = step_bytes.value_or(kStepBytes);
  std::vector<std::uint64_t> sizes;
  // The product cannot overflow: sizes are below 2^53, and factors below 2^11.
  for (std::uint64_t size = first; size <= last; size = factor > 1 ? size * factor : size + step) {
    if (sizes.size() == kSizesMax) {
      return tl::unexpected(
          fmt::format("more than {} sizes; choose a larger --stepbytes "
                      "or --stepfactor",
                      kSizesMax));
    }
    sizes.push_back(size);
  }
  return sizes;
}

NcclSpeed nccl_speed(std::uint64_t bytes, double seconds, int world) {
  const double algorithm = static_cast<double>(bytes) / seconds / 1e9;
  return {algorithm, algorithm * 2 * (world - 1) / world};
}

std::string nccl_head() {
  const auto line = [](auto... names) {
    return fmt::format(
        "# {:>10}  {:>12}  {:>8}  {:>6}  {:>6}  {:>7}  {:>6}  {:>6} {:>6}  {:>7}  {:>6}  {:>6} "
        "{:>6}\n",
        names...);
  };
  return fmt::format("#{:>53}{:^31}{:^31}\n", "", "out-of-place", "in-place") +
         line("size", "count", "type", "redop", "root", "time", "algbw", "busbw", "#wrong", "time",
              "algbw", "busbw", "#wrong") +
         line("(B)", "(elements)", "", "", "", "(us)", "(GB/s)", "(GB/s)", "", "(us)", "(GB/s)",
              "(GB/s)", "");
}

std::string nccl_row(std::uint64_t bytes, std::uint64_t elements, const std::string& type,
                     const std::string& operation, const NcclHalf& apart,
                     const NcclHalf& in_place) {
  // An all-reduce does not have a root, which nccl-tests shows as -1.
  return fmt::format("{:>12}  {:>12}  {:>8}  {:>6}  {:>6}{}{}\n", bytes, elements, type, operation,
                     -1, half_text(apart), half_text(in_place));
}

std::string nccl_tail(std::uint64_t wrong, const std::vector<double>& bus) {
  const double sum = std::accumulate(bus.begin(), bus.end(), 0.0);
  return fmt::format("# Out of bounds values : {} {}\n# Avg bus bandwidth    : {:.6g}\n", wrong,
                     wrong == 0 ? "OK" : "FAILED",
                     bus.empty() ? 0 : sum / static_cast<double>(bus.size()));
}

}  // namespace infold::cli
