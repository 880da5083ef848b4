// SPDX-License-Identifier: Apache-2.0
#include "cli/plan/plan_processors.h"

#include <cerrno>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string_view>

#include "lab/measure/processor_costs.h"
#include "predict/processors_text.h"

namespace infold::cli {
namespace {

constexpr std::string_view kTable = "table";
constexpr std::string_view kAny = "any";
constexpr std::string_view kMeasure = "measure";
// A file of seven lines and some comments. What is longer is another file.
constexpr std::size_t kFileBytesMax = 16 << 10;

using Costs = tl::expected<predict::Processors, std::string>;

Costs read(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::string text(kFileBytesMax + 1, '\0');
  // A folder can be opened, and fails at the first byte.
  errno = 0;
  if (file) file.read(text.data(), static_cast<std::streamsize>(text.size()));
  if (file.bad() || (!file && !file.eof())) {
    return tl::unexpected(fmt::format("must be table, any, measure or a file; cannot read '{}': {}",
                                      path, std::strerror(errno == 0 ? ENOENT : errno)));
  }
  text.resize(static_cast<std::size_t>(file.gcount()));
  if (text.size() > kFileBytesMax) {
    return tl::unexpected(fmt::format(
        "{}: more than {} bytes, so --save-processors did not write it", path, kFileBytesMax));
  }
  auto processors = predict::read_processors(text);
  if (!processors) return tl::unexpected(fmt::format("{}: {}", path, processors.error()));
  return *processors;
}

std::string origin() {
  return fmt::format("measured over loopback on {} processors", lab::processor_count());
}

void save(const predict::Processors& processors, const std::string& path) {
  std::ofstream file(path);
  file << predict::write_processors(processors, origin());
  file.close();
  if (!file) {
    throw std::runtime_error(fmt::format("--save-processors {}: {}", path, std::strerror(errno)));
  }
}

std::string cost_text(const predict::ChunkCost& cost) {
  return fmt::format("{:.2f} us + {:.2f} ns an element", cost.packet_s * 1e6, cost.element_s * 1e9);
}

void print(Output& output, const predict::Processors& processors, double seconds) {
  output.text(
      "Processors of this machine ({} of them), measured over loopback in {:.0f} s:\n"
      "  a rank, for a chunk and its result           {}\n"
      "  a site, for a contribution and its result    {}\n"
      "  a rank that sums, for a chunk of its own     {}\n"
      "  a ring over TCP, a byte sent and received    {:.2f} ns\n\n",
      lab::processor_count(), seconds, cost_text(processors.rank), cost_text(processors.site),
      cost_text(processors.own), processors.ring_byte_s * 1e9);
  output.object({{"processors", lab::processor_count()},
                 {"rank_packet_ns", processors.rank.packet_s * 1e9},
                 {"rank_element_ns", processors.rank.element_s * 1e9},
                 {"site_packet_ns", processors.site.packet_s * 1e9},
                 {"site_element_ns", processors.site.element_s * 1e9},
                 {"own_packet_ns", processors.own.packet_s * 1e9},
                 {"own_element_ns", processors.own.element_s * 1e9},
                 {"ring_byte_ns", processors.ring_byte_s * 1e9}});
}

predict::Processors measure(Output& output) {
  using Clock = std::chrono::steady_clock;
  const Clock::time_point start = Clock::now();
  const predict::Processors processors = lab::measure_processors(
      std::filesystem::read_symlink("/proc/self/exe"), [&output](std::string_view step) {
        output.log("infold plan: measuring processors: {}\n", step);
      });
  print(output, processors, std::chrono::duration<double>(Clock::now() - start).count());
  return processors;
}

}  // namespace

void ProcessorsOption::declare(Options& options) {
  options.text("--processors", source_,
               "Processor time of packets: of our table, none, as measured here in some twenty "
               "seconds, or from a file of --save-processors; else table, with --verify measure",
               "table|any|measure|FILE");
  options.text("--save-processors", saved_as_,
               "With --processors measure: file to write the measured times to", "FILE");
}

std::string ProcessorsOption::problem() const {
  if (saved_as_.empty() || source_ == kMeasure) return "";
  return "--save-processors saves what --processors measure finds; give both";
}

tl::expected<predict::Processors, std::string> ProcessorsOption::costs(Output& output,
                                                                       bool for_lab) const {
  if (source_ == kAny) return predict::Processors{};
  if (source_ == kMeasure || (source_.empty() && for_lab)) {
    const predict::Processors processors = measure(output);
    if (!saved_as_.empty()) save(processors, saved_as_);
    return processors;
  }
  if (source_.empty() || source_ == kTable) return predict::measured_processors();
  return read(source_);
}

}  // namespace infold::cli
