// SPDX-License-Identifier: Apache-2.0
#include "study/measure/compare/compare.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "core/format.h"
#include "study/predict/link_bytes.h"

namespace infold::measure {
namespace {

// On the lab's links, the Ethernet header is all that a frame adds to its packet.
constexpr std::uint32_t kFrameBytes = 14;

struct Wire {
  const char* name;
  core::WireFormat format;
};
constexpr Wire kWires[] = {{"native", core::WireFormat::native},
                           {"bfp32", core::WireFormat::bfp32},
                           {"bfp16", core::WireFormat::bfp16},
                           {"bfp8", core::WireFormat::bfp8}};

std::vector<Implementation> all_implementations() {
  std::vector<Implementation> all;
  for (const Wire& wire : kWires) {
    const std::string name = wire.name;
    all.push_back({"infold-" + name, Way::infold_switch, name});
    all.push_back({"infold-workers-" + name, Way::infold_workers, name});
    for (const char* layout : {"blocks", "automatic"}) {
      all.push_back({fmt::format("infold-{}-{}", layout, name), Way::infold_switch, name, layout});
    }
  }
  for (const char* algorithm : {"ring", "ring4", "hd", "oneshot", "union", "coo"}) {
    all.push_back({std::string("gloo-") + algorithm, Way::gloo, algorithm});
  }
  for (const std::size_t block : {64, 1024}) {
    all.push_back({fmt::format("gloo-union-{}", block), Way::gloo, "union", "dense", block});
  }
  all.push_back({"gloo-coo-1", Way::gloo, "coo", "dense", 1});
  all.push_back({"openmpi", Way::openmpi, "allreduce"});
  all.push_back({"openmpi-oneshot", Way::openmpi, "oneshot"});
  return all;
}

double passage_bytes(const std::string& wire, std::uint64_t bytes,
                     const predict::Framing& framing) {
  const Wire* const found = std::find_if(std::begin(kWires), std::end(kWires),
                                         [&](const Wire& each) { return each.name == wire; });
  const core::ElementLayout layout{found->format, core::DataType::f32};
  const std::uint64_t elements = predict::tensor_elements(core::DataType::f32, bytes);
  return static_cast<double>(predict::passage_of(layout, elements, framing).link_bytes);
}

// Returns the median, and reorders the values. Requires: at least one value.
double median_of(std::vector<double>& values) {
  std::sort(values.begin(), values.end());
  const std::size_t middle = values.size() / 2;
  return values.size() % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

double median_field(const std::vector<const Sample*>& samples, const char* field) {
  std::vector<double> values;
  for (const Sample* sample : samples) values.push_back(sample->measured.value(field, 0.0));
  return median_of(values);
}

Summary summary_of(const std::vector<const Sample*>& tried) {
  Summary summary;
  std::vector<const Sample*> measured;
  for (const Sample* sample : tried) {
    if (sample->error.empty()) measured.push_back(sample);
  }
  summary.rounds = static_cast<unsigned>(measured.size());
  summary.check = "failed";
  if (measured.empty()) return summary;
  std::vector<double> medians;
  summary.check = "ok";
  for (const Sample* sample : measured) {
    medians.push_back(sample->measured.value("median_ms", 0.0));
    summary.resent += sample->measured.value("retransmits", std::uint64_t{0});
    const std::string check = sample->measured.value("check", "not checked");
    if (check != "ok" && summary.check != "wrong") summary.check = check;
  }
  summary.median_ms = median_of(medians);
  summary.least_ms = medians.front();
  summary.most_ms = medians.back();
  summary.p99_ms = median_field(measured, "p99_ms");
  summary.cpu_s_per_gb = median_field(measured, "cpu_s_per_gb");
  return summary;
}

}  // namespace

std::optional<Implementation> implementation_of(std::string_view name) {
  for (const Implementation& each : all_implementations()) {
    if (each.name == name) return each;
  }
  return std::nullopt;
}

std::vector<std::string> implementation_names() {
  std::vector<std::string> names;
  for (const Implementation& each : all_implementations()) names.push_back(each.name);
  return names;
}

std::string size_text(std::uint64_t bytes) {
  if (bytes > 0 && bytes % (1 << 20) == 0) return fmt::format("{} MiB", bytes >> 20);
  if (bytes > 0 && bytes % (1 << 10) == 0) return fmt::format("{} KiB", bytes >> 10);
  return fmt::format("{} B", bytes);
}

double union_share(const Conditions& conditions, std::uint64_t world) {
  const double zeros = conditions.zeros.share;
  return 1 - (conditions.zeros.at_end ? zeros : std::pow(zeros, static_cast<double>(world)));
}

double bound_s(const Conditions& conditions, const Implementation& implementation,
               std::uint64_t world, std::uint64_t bytes) {
  if (conditions.bits_per_second <= 0) return 0;
  predict::Framing framing;
  framing.mtu = conditions.mtu;
  framing.frame_bytes = kFrameBytes;
  const auto others = static_cast<double>(world - 1);
  const double share = union_share(conditions, world);
  const double ring = 2 * others / static_cast<double>(world) *
                      static_cast<double>(predict::tcp_link_bytes(bytes, framing));
  double link_bytes = 0;
  if (implementation.way == Way::infold_switch) {
    link_bytes = passage_bytes(implementation.algorithm, bytes, framing);
    if (implementation.layout != "dense") link_bytes *= share;
  } else if (implementation.way == Way::infold_workers) {
    // A worker sends each contribution to the worker that sums it, and sends the results of its own
    // share to all others.
    link_bytes = 2 * others / static_cast<double>(world) *
                 passage_bytes(implementation.algorithm, bytes, framing);
  } else if (implementation.algorithm == "oneshot") {
    link_bytes = others * static_cast<double>(predict::tcp_link_bytes(bytes, framing));
  } else if (implementation.algorithm == "coo") {
    // Each rank gets the blocks of all other ranks, with 8 bytes of index per block.
    const double each = 1 + 8 / (sizeof(float) * static_cast<double>(implementation.block));
    link_bytes = others * (1 - conditions.zeros.share) * each *
                 static_cast<double>(predict::tcp_link_bytes(bytes, framing));
  } else {
    // No all-reduce that uses hosts alone moves fewer bytes than a ring.
    link_bytes = implementation.algorithm == "union" ? share * ring : ring;
  }
  return link_bytes * 8 / conditions.bits_per_second;
}

std::vector<Summary> summarise(const Conditions& conditions, const std::vector<Sample>& samples) {
  std::vector<Summary> summaries;
  for (const std::uint64_t world : conditions.worlds) {
    for (const std::uint64_t bytes : conditions.bytes) {
      for (const Implementation& each : conditions.implementations) {
        std::vector<const Sample*> tried;
        for (const Sample& sample : samples) {
          if (sample.impl == each.name && sample.world == world && sample.bytes == bytes) {
            tried.push_back(&sample);
          }
        }
        if (tried.empty()) continue;
        Summary summary = summary_of(tried);
        summary.impl = each.name;
        summary.world = world;
        summary.bytes = bytes;
        summary.bound_ms = bound_s(conditions, each, world, bytes) * 1e3;
        summaries.push_back(summary);
      }
    }
  }
  return summaries;
}

}  // namespace infold::measure
