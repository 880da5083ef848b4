// SPDX-License-Identifier: Apache-2.0
#include "study/mix/run/job_trace.h"

#include <cmath>
#include <string>
#include <utility>

#include <fmt/format.h>

namespace infold::mix {
namespace {

using trace::make_attribute;
using trace::NodeType;

constexpr std::uint64_t kElementBytes = 4;

const char* name_of(Gpu::Work work) {
  switch (work) {
    case Gpu::Work::forward: return "forward";
    case Gpu::Work::backward: return "backward";
    default: return "update";
  }
}

}  // namespace

std::uint64_t JobTrace::us(base::Instant time) const {
  return static_cast<std::uint64_t>(std::llround(static_cast<double>(time.ns) * scale_ / 1e3));
}

JobTrace::Gradient& JobTrace::gradient(std::uint32_t layer) {
  if (layer >= gradients_.size()) gradients_.resize(layer + 1U);
  return gradients_[layer];
}

trace::Node& JobTrace::add(const std::string& name, NodeType type, std::uint64_t start_us) {
  trace::Node& node = trace_.nodes.emplace_back();
  node.id = trace_.nodes.size();
  node.name = name;
  node.type = type;
  node.start_us = start_us;
  return node;
}

void JobTrace::start(double submitted_s, double started_s) {
  trace_.version = "0.0.4";
  trace_.attributes = {make_attribute("rank", std::int64_t{0})};
  if (started_s <= submitted_s) return;
  const auto from_us = static_cast<std::uint64_t>(std::llround(submitted_s * 1e6));
  trace::Node& node = add("waits for hosts and slots", NodeType::metadata, from_us);
  node.duration_us = static_cast<std::uint64_t>(std::llround(started_s * 1e6)) - from_us;
}

void JobTrace::add_work(base::Instant now, base::Duration time, const Gpu& gpu) {
  const std::string name = fmt::format("{} {}", name_of(gpu.work()), gpu.layer() + 1);
  trace::Node& node = add(name, NodeType::compute, us(now));
  node.duration_us = us(now + time) - node.start_us;
  node.attributes = {make_attribute("step", std::int64_t{gpu.iteration()})};
  if (last_work_ > 0) node.control_deps = {last_work_};
  last_work_ = node.id;
  Gradient& own = gradient(gpu.layer());
  if (gpu.work() == Gpu::Work::backward) own.made_by = node.id;
  if (gpu.work() == Gpu::Work::update) node.data_deps = {own.summed_by};
}

void JobTrace::begin_sum(base::Instant now, std::uint32_t layer, std::uint64_t elements) {
  trace::Node& node = add(fmt::format("sum {}", layer + 1), NodeType::collective, us(now));
  const double bytes = static_cast<double>(elements * kElementBytes) * scale_;
  Gradient& own = gradient(layer);
  node.control_deps = {own.made_by};
  node.attributes = {make_attribute("comm_type", std::int64_t{0}),
                     make_attribute("comm_size", static_cast<std::int64_t>(std::llround(bytes)))};
  own.summed_by = node.id;
}

void JobTrace::end_sum(base::Instant now, std::uint32_t layer) {
  trace::Node& node = trace_.nodes[gradient(layer).summed_by - 1];
  node.duration_us = us(now) - node.start_us;
}

}  // namespace infold::mix
