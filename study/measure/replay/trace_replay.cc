// SPDX-License-Identifier: Apache-2.0
#include "study/measure/replay/trace_replay.h"

#include <algorithm>
#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <queue>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "study/measure/replay/call_follower.h"
#include "study/measure/replay/replay_buffers.h"
#include "trace/feeder.h"
#include "trace/views/summary.h"

namespace infold::measure {
namespace {

using trace::CallShape;
using trace::CollectiveKind;
using trace::Node;
using trace::NodeType;
using Clock = std::chrono::steady_clock;
using Time = Clock::time_point;

// A thread waits for each group's oldest call. If a newer call ends first, the replay notices it at
// most this late.
constexpr auto kLook = std::chrono::milliseconds(1);
// The longest wait if that cannot happen.
constexpr auto kLookSeldom = std::chrono::seconds(1);

constexpr const char* kStopped = "stopped on request";

std::string called(const Node& node) {
  return fmt::format("node {} '{}'", node.id, trace::printable(node.name));
}

Handle begin_call(Communicator& communicator, const CallShape& shape, CallBuffers& buffers,
                  WireFormat wire) {
  const MutableTensorView input(buffers.input.data(), shape.input, shape.type);
  const MutableTensorView output(buffers.output.data(), shape.output, shape.type);
  CallOptions options = {.reduction = trace::reduction_of(shape.type)};
  if (options.reduction == Reduction::average) options.wire = wire;
  switch (shape.kind) {
    case CollectiveKind::reduce: return communicator.reduce(input, input, shape.root, options);
    case CollectiveKind::broadcast: return communicator.broadcast(input, shape.root);
    case CollectiveKind::all_gather: return communicator.all_gather(input, output);
    case CollectiveKind::reduce_scatter:
    case CollectiveKind::reduce_scatter_block:
      return communicator.reduce_scatter(input, output, options);
    case CollectiveKind::barrier: return communicator.barrier();
    default: return communicator.all_reduce(input, options);
  }
}

class Replayer {
 public:
  using CommunicatorOf = std::function<Communicator&(const std::string& group)>;

  Replayer(const trace::Trace& trace, const CommunicatorOf& communicator_of,
           const ReplayOptions& options)
      : trace_(trace),
        communicator_of_(communicator_of),
        options_(options),
        index_(trace),
        feeder_(trace),
        buffers_(options.seed),
        done_at_(trace.nodes.size()) {}

  tl::expected<ReplayReport, std::string> run() {
    prepare();
    start_ = Clock::now();
    while (error_.empty() && !feeder_.is_finished()) {
      while (error_.empty()) {
        const auto node = feeder_.next();
        if (!node) break;
        begin(*node);
      }
      if (error_.empty() && !take_ended()) wait();
    }
    for (const Running& call : calls_) call.handle->cancel();
    if (!error_.empty()) return tl::unexpected(error_);
    return report();
  }

 private:
  struct Running {
    std::size_t node = 0;
    CallShape shape;
    std::unique_ptr<CallBuffers> buffers;  // outlives the handle
    std::shared_ptr<Handle> handle;
  };
  using Deadline = std::pair<Time, std::size_t>;

  // Makes the memory for the first calls, and waits for the other ranks.
  void prepare() {
    std::set<CallShape> shapes;
    for (const Node& node : trace_.nodes) {
      if (const auto collective = trace::collective_of(node)) {
        shapes.insert(trace::shape_of(*collective, communicator_of_(collective->group).world()));
      }
    }
    for (const CallShape& shape : shapes) buffers_.give_back(shape, buffers_.take(shape));
    for (const std::string& group : trace::groups_of(trace_)) {
      followers_.try_emplace(group, bell_);
      const auto met = communicator_of_(group).barrier().wait();
      if (!met) return fail("the ranks did not meet: " + met.error().message);
    }
  }

  void begin(std::size_t number) {
    const Node& node = trace_.nodes[number];
    const auto collective = trace::collective_of(node);
    if (!collective) {
      computes_.emplace(ready_at(node) + std::chrono::microseconds(trace::weight_of(node)), number);
      return;
    }
    Communicator& communicator = communicator_of_(collective->group);
    Running call;
    call.node = number;
    call.shape = trace::shape_of(*collective, communicator.world());
    call.buffers = buffers_.take(call.shape);
    call.handle = std::make_shared<Handle>(
        begin_call(communicator, call.shape, *call.buffers, options_.wire));
    followers_.at(collective->group).follow(call.handle);
    calls_.push_back(std::move(call));
    ++report_.calls;
    report_.bytes += collective->bytes;
  }

  // Returns when the last dependency was done. For a compute its own deadline counts, not the
  // moment at which this thread woke up, so that a chain of computes does not drift.
  Time ready_at(const Node& node) const {
    Time ready = start_;
    for (const auto* ids : {&node.control_deps, &node.data_deps}) {
      for (const std::uint64_t id : *ids) ready = std::max(ready, done_at_[*index_.find(id)]);
    }
    return ready;
  }

  bool take_ended() {
    bool took = false;
    const Time now = Clock::now();
    for (; !computes_.empty() && computes_.top().first <= now; computes_.pop()) {
      finish(computes_.top().second, computes_.top().first);
      took = true;
    }
    for (std::size_t i = 0; i < calls_.size();) {
      if (!calls_[i].handle->test()) {
        ++i;
        continue;
      }
      took = true;
      const auto ended = calls_[i].handle->wait();
      if (!ended) {
        fail(called(trace_.nodes[calls_[i].node]) + ": " + ended.error().message);
        return true;
      }
      finish(calls_[i].node, now);
      buffers_.give_back(calls_[i].shape, std::move(calls_[i].buffers));
      calls_.erase(calls_.begin() + static_cast<std::ptrdiff_t>(i));
    }
    return took;
  }

  void finish(std::size_t node, Time at) {
    done_at_[node] = at;
    feeder_.done(node);
  }

  // Waits until a compute or a call ends.
  void wait() {
    if (options_.stop.stop_requested()) return fail(kStopped);
    Time until = Clock::now() + (calls_.size() > 1 ? Clock::duration(kLook) : kLookSeldom);
    if (!computes_.empty()) until = std::min(until, computes_.top().first);
    bell_.wait_until(until, options_.stop);
  }

  void fail(std::string reason) {
    error_ = options_.stop.stop_requested() ? kStopped : std::move(reason);
  }

  ReplayReport report() {
    std::map<std::uint64_t, Time> ends;
    Time end = start_;
    for (std::size_t i = 0; i < trace_.nodes.size(); ++i) {
      const Node& node = trace_.nodes[i];
      if (node.type == NodeType::metadata) continue;
      end = std::max(end, done_at_[i]);
      if (const auto step = trace::step_of(node)) {
        Time& end_of_step = ends.try_emplace(*step, start_).first->second;
        end_of_step = std::max(end_of_step, done_at_[i]);
      }
    }
    const trace::Summary summary = trace::summary_of(trace_);
    report_.recorded_ns = nanoseconds_of(summary.span_us);
    report_.replayed_ns = (end - start_).count();
    Time before = start_;
    for (const trace::StepTime& step : summary.steps) {
      const auto found = ends.find(step.number);
      if (found == ends.end()) continue;
      report_.steps.push_back(
          {step.number, nanoseconds_of(step.us), (found->second - before).count()});
      before = found->second;
    }
    return report_;
  }

  static std::int64_t nanoseconds_of(std::uint64_t us) {
    return static_cast<std::int64_t>(us) * 1000;
  }

  const trace::Trace& trace_;
  const CommunicatorOf& communicator_of_;
  const ReplayOptions& options_;
  const trace::NodeIndex index_;
  trace::Feeder feeder_;
  ReplayBuffers buffers_;
  std::vector<Time> done_at_;
  Time start_;
  std::priority_queue<Deadline, std::vector<Deadline>, std::greater<>> computes_;
  std::vector<Running> calls_;  // in the order in which they began
  std::string error_;
  ReplayReport report_;
  EndBell bell_;
  std::map<std::string, CallFollower> followers_;  // by group; destroyed before all these
};

}  // namespace

tl::expected<ReplayReport, std::string> replay(const trace::Trace& trace,
                                               const Replayer::CommunicatorOf& communicator_of,
                                               const ReplayOptions& options) {
  return Replayer(trace, communicator_of, options).run();
}

}  // namespace infold::measure
