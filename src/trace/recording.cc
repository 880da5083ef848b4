// SPDX-License-Identifier: Apache-2.0
#include "trace/recording.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

namespace infold::trace {
namespace {

// The version of the schema whose fields infold writes. Chakra's tools do not compare it.
constexpr const char* kSchema = "0.0.4";
// How many operators a compute names at most. The others together rarely take a tenth of its time.
constexpr std::size_t kOperatorsNamed = 8;

enum class What { call, wait, step };

struct Event {
  std::int64_t at_ns = 0;
  What what = What::call;
  std::size_t number = 0;
};

// Says which operators ran in a span of time. The caller asks about spans in order, without
// overlaps.
class Operators {
 public:
  explicit Operators(std::vector<RecordedOperator> operators) : all_(std::move(operators)) {
    std::sort(all_.begin(), all_.end(),
              [](const auto& a, const auto& b) { return a.begin_ns < b.begin_ns; });
  }

  // Returns the operators that took the most time, in microseconds, such as
  // "aten::mm=120,aten::add=7". Empty: none ran.
  std::string of(std::int64_t from_ns, std::int64_t to_ns) {
    while (first_ < all_.size() && all_[first_].end_ns <= from_ns) ++first_;
    std::map<std::string, std::int64_t> times;
    for (std::size_t i = first_; i < all_.size() && all_[i].begin_ns < to_ns; ++i) {
      const std::int64_t ns = std::min(all_[i].end_ns, to_ns) - std::max(all_[i].begin_ns, from_ns);
      if (ns > 0) times[all_[i].name] += ns;
    }
    std::vector<std::pair<std::int64_t, std::string>> longest;
    for (const auto& [name, ns] : times) longest.emplace_back(-ns, name);
    std::sort(longest.begin(), longest.end());
    if (longest.size() > kOperatorsNamed) longest.resize(kOperatorsNamed);
    std::string text;
    for (const auto& [ns, name] : longest) {
      text += (text.empty() ? "" : ",") + name + "=" + std::to_string((500 - ns) / 1000);
    }
    return text;
  }

 private:
  std::vector<RecordedOperator> all_;  // by the time when they began
  std::size_t first_ = 0;              // later spans contain no operator before this one
};

class Builder {
 public:
  explicit Builder(const Recording& recording)
      : recording_(recording),
        operators_(recording.operators),
        cursor_ns_(recording.begin_ns),
        step_begin_ns_(recording.begin_ns),
        node_of_call_(recording.calls.size()),
        is_waited_for_(recording.calls.size()),
        has_own_wait_(recording.calls.size()) {
    for (const RecordedWait& wait : recording.waits) {
      for (const std::size_t call : wait.calls) has_own_wait_[call] = true;
    }
  }

  Trace build() {
    describe();
    for (const Event& event : events()) {
      compute_until(event.at_ns);
      if (event.what == What::call) add_call(event.number);
      if (event.what == What::wait) add_wait(recording_.waits[event.number]);
      if (event.what == What::step) end_step(recording_.step_ends_ns[event.number]);
    }
    compute_until(recording_.end_ns);
    return std::move(trace_);
  }

 private:
  void describe() {
    trace_.version = kSchema;
    trace_.attributes = {
        make_attribute("rank", static_cast<std::int64_t>(recording_.rank)),
        make_attribute("world", static_cast<std::int64_t>(recording_.world)),
        make_attribute("writer", std::string("infold")),
    };
    for (const auto& [name, ranks] : recording_.groups) {
      trace_.attributes.push_back(make_attribute("pg_ranks:" + name, ranks));
    }
  }

  std::vector<Event> events() const {
    std::vector<Event> events;
    const auto add = [&events](std::int64_t at_ns, What what, std::size_t number) {
      events.push_back({at_ns, what, number});
    };
    for (std::size_t i = 0; i < recording_.calls.size(); ++i) {
      add(recording_.calls[i].begin_ns, What::call, i);
    }
    for (std::size_t i = 0; i < recording_.waits.size(); ++i) {
      add(recording_.waits[i].begin_ns, What::wait, i);
    }
    for (std::size_t i = 0; i < recording_.step_ends_ns.size(); ++i) {
      add(recording_.step_ends_ns[i], What::step, i);
    }
    // If events have the same time, calls come before waits, and waits before the end of a step.
    std::sort(events.begin(), events.end(), [](const Event& a, const Event& b) {
      return std::tuple(a.at_ns, a.what, a.number) < std::tuple(b.at_ns, b.what, b.number);
    });
    return events;
  }

  std::uint64_t us(std::int64_t at_ns) const {
    return static_cast<std::uint64_t>(std::max<std::int64_t>(0, at_ns - recording_.begin_ns)) /
           1000;
  }

  // Adds a node for the time from one point to another. Its duration is the difference of two
  // rounded times, so that a chain of nodes does not drift.
  Node& add(const char* name, NodeType type, std::int64_t begin_ns, std::int64_t end_ns) {
    Node node;
    node.id = trace_.nodes.size() + 1;
    node.name = name;
    node.type = type;
    node.start_us = recording_.unix_us + us(begin_ns);
    node.duration_us = us(std::max(begin_ns, end_ns)) - us(begin_ns);
    node.attributes = {make_attribute("step", step_)};
    return trace_.nodes.emplace_back(std::move(node));
  }

  // Adds a compute that begins where the program went on. Compute of less than a microsecond is
  // left out, unless a dependency has no other place.
  void compute_until(std::int64_t at_ns) {
    const bool is_needed = !last_compute_ || !pending_.empty();
    if (is_needed || us(at_ns) > us(cursor_ns_)) {
      Node& node = add("compute", NodeType::compute, cursor_ns_, at_ns);
      if (last_compute_) node.control_deps = {*last_compute_};
      node.data_deps = std::exchange(pending_, {});
      node.attributes.push_back(make_attribute("is_cpu_op", false));
      std::string operators = operators_.of(cursor_ns_, at_ns);
      if (!operators.empty()) {
        node.attributes.push_back(make_attribute("operators", std::move(operators)));
      }
      last_compute_ = node.id;
    }
    cursor_ns_ = std::max(cursor_ns_, at_ns);
  }

  void add_call(std::size_t number) {
    const RecordedCall& call = recording_.calls[number];
    cursor_ns_ = std::max(cursor_ns_, call.returned_ns);
    if (!call.end_ns) return;
    Node& node = add(call.name.c_str(), NodeType::collective, call.begin_ns, *call.end_ns);
    node.control_deps = {*last_compute_};
    // Chakra's feeder expects exactly these types.
    node.attributes.push_back(make_attribute("is_cpu_op", false));
    node.attributes.push_back(make_attribute("comm_type", static_cast<std::int64_t>(call.kind)));
    node.attributes.push_back(make_attribute("comm_size", static_cast<std::int64_t>(call.bytes)));
    node.attributes.push_back(make_attribute("pg_name", call.group));
    if (!call.data_type.empty()) node.attributes.push_back(make_attribute("dtype", call.data_type));
    if (call.kind == CollectiveKind::broadcast || call.kind == CollectiveKind::reduce) {
      node.attributes.push_back(make_attribute("comm_src", std::int32_t{call.root}));
    }
    node_of_call_[number] = node.id;
  }

  void add_wait(const RecordedWait& wait) {
    if (!wait.calls.empty()) {
      for (const std::size_t call : wait.calls) depend_on(call);
      cursor_ns_ = std::max(cursor_ns_, wait.end_ns);
      return;
    }
    std::int64_t last_ns = wait.begin_ns;
    for (std::size_t call = first_open_; call < recording_.calls.size(); ++call) {
      if (recording_.calls[call].begin_ns > wait.begin_ns) break;
      if (has_own_wait_[call] || !has_ended_by(call, wait.end_ns)) continue;
      if (!is_waited_for_[call]) last_ns = std::max(last_ns, *recording_.calls[call].end_ns);
      depend_on(call);
    }
    cursor_ns_ = std::max(cursor_ns_, last_ns);
  }

  // The end of a step depends on all calls that have ended and that the program did not wait for.
  void end_step(std::int64_t at_ns) {
    for (std::size_t call = first_open_; call < recording_.calls.size(); ++call) {
      if (recording_.calls[call].begin_ns > at_ns) break;
      if (!has_own_wait_[call] && has_ended_by(call, at_ns)) depend_on(call);
    }
    compute_until(at_ns);
    while (first_open_ < is_waited_for_.size() && is_waited_for_[first_open_]) ++first_open_;
    add("step", NodeType::metadata, step_begin_ns_, at_ns);
    step_begin_ns_ = at_ns;
    ++step_;
  }

  bool has_ended_by(std::size_t call, std::int64_t at_ns) const {
    const auto& end_ns = recording_.calls[call].end_ns;
    return end_ns && *end_ns <= at_ns;
  }

  void depend_on(std::size_t call) {
    if (is_waited_for_[call] || node_of_call_[call] == 0) return;
    is_waited_for_[call] = true;
    pending_.push_back(node_of_call_[call]);
  }

  const Recording& recording_;
  Operators operators_;
  Trace trace_;
  std::int64_t cursor_ns_;  // time after this is compute
  std::int64_t step_begin_ns_;
  std::int64_t step_ = 0;
  std::optional<std::uint64_t> last_compute_;
  std::vector<std::uint64_t> pending_;       // nodes that the next compute depends on
  std::vector<std::uint64_t> node_of_call_;  // 0: none yet
  std::vector<bool> is_waited_for_;
  std::vector<bool> has_own_wait_;
  std::size_t first_open_ = 0;  // every call before this one has a node that depends on it
};

}  // namespace

Trace trace_of(const Recording& recording) { return Builder(recording).build(); }

}  // namespace infold::trace
