// SPDX-License-Identifier: Apache-2.0
#include "cli/plan/plan_processors.h"

#include <chrono>
#include <filesystem>
#include <stdexcept>
#include <string_view>

#include "cli/line/whole_file.h"
#include "study/measure/cost/processor_costs.h"
#include "study/predict/processors_text.h"

namespace infold::cli {
namespace {

constexpr std::string_view kTable = "table";
constexpr std::string_view kAny = "any";
constexpr std::string_view kMeasure = "measure";
// The file has seven lines and some comments. A longer file must be something else.
constexpr std::size_t kFileBytesMax = 16 << 10;

using Costs = tl::expected<predict::Processors, std::string>;

Costs read(const std::string& path) {
  const auto text = read_file(path, kFileBytesMax);
  if (!text) {
    return tl::unexpected(fmt::format(
        "--processors must be table, any, measure or a file; '{}': {}", path, text.error()));
  }
  auto processors = predict::read_processors(*text);
  if (!processors) {
    return tl::unexpected(fmt::format("--processors {}: {}", path, processors.error()));
  }
  return *processors;
}

std::string origin() {
  return fmt::format("measured over loopback on {} processors", measure::processor_count());
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
      measure::processor_count(), seconds, cost_text(processors.rank), cost_text(processors.site),
      cost_text(processors.own), processors.ring_byte_s * 1e9);
  output.object({{"processors", measure::processor_count()},
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
  const predict::Processors processors = measure::measure_processors(
      std::filesystem::read_symlink("/proc/self/exe"), [&output](std::string_view step) {
        output.log("infold plan: measuring processors: {}\n", step);
      });
  print(output, processors, std::chrono::duration<double>(Clock::now() - start).count());
  return processors;
}

}  // namespace

void ProcessorsOption::declare(Options& options) {
  options.path("--processors", source_,
               "Processor time of packets: of our table, none, as measured here in some twenty "
               "seconds, or from a file of --save-processors; else table, with --verify measure",
               "table|any|measure|FILE");
  options.path("--save-processors", saved_as_,
               "With --processors measure: file to write the measured times to");
}

std::string ProcessorsOption::problem() const {
  if (saved_as_.empty() || source_ == kMeasure) return "";
  return "--save-processors saves what --processors measure finds; give both";
}

std::optional<std::string> ProcessorsOption::find_unwritable_file() const {
  const auto problem = saved_as_.empty() ? std::nullopt : find_unwritable(saved_as_);
  return problem ? std::optional("--save-processors " + *problem) : std::nullopt;
}

tl::expected<predict::Processors, std::string> ProcessorsOption::costs(Output& output,
                                                                       bool for_lab) const {
  if (source_ == kAny) return predict::Processors{};
  if (source_ == kMeasure || (source_.empty() && for_lab)) {
    const predict::Processors processors = measure(output);
    if (saved_as_.empty()) return processors;
    const std::string text = predict::write_processors(processors, origin());
    if (const auto problem = write_file(saved_as_, text)) {
      throw std::runtime_error("--save-processors " + *problem);
    }
    return processors;
  }
  if (source_.empty() || source_ == kTable) return predict::measured_processors();
  return read(source_);
}

}  // namespace infold::cli
