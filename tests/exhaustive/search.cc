// SPDX-License-Identifier: Apache-2.0
//
// Walks over the states, and judges each step.
#include "tests/exhaustive/search.h"

#include <algorithm>
#include <bit>
#include <chrono>

#include "base/check.h"

namespace infold::exhaustive {
namespace {

constexpr std::size_t kBudgetWords = 2;

// Returns whether it was added.
bool add_packet(std::vector<PacketId>& packets, PacketId packet, bool once) {
  const auto place = std::lower_bound(packets.begin(), packets.end(), packet);
  if (once && place != packets.end() && *place == packet) return false;
  packets.insert(place, packet);
  return true;
}

void remove_packet(std::vector<PacketId>& packets, PacketId packet) {
  const auto place = std::lower_bound(packets.begin(), packets.end(), packet);
  CHECK(place != packets.end() && *place == packet);
  packets.erase(place);
}

}  // namespace

Search::Search(const Case& model_case) : case_(model_case), steps_(case_), progress_(steps_) {
  if (case_.epoch_before) add_packets_of_earlier_job();
}

// Searching all that the earlier job can do finds all packets that it can send.
void Search::add_packets_of_earlier_job() {
  CHECK(is_monotone());
  Case earlier = case_;
  earlier.epoch = *case_.epoch_before;
  earlier.epoch_before.reset();
  earlier.digit_first = case_.digit_first + 3;
  earlier.safety_only = true;
  Search search(earlier);
  const Outcome outcome = search.run();
  CHECK(outcome.exhausted);
  for (std::uint32_t packet = 0; packet < outcome.packets; ++packet) {
    const PacketInfo& info = search.machines().packet(static_cast<PacketId>(packet));
    first_packets_.push_back(steps_.machines().add_foreign(info));
  }
}

GlobalState Search::first_state() const {
  GlobalState state;
  for (std::uint32_t node = 0; node < steps_.wiring().node_count(); ++node) {
    state.machines.push_back(steps_.initial(static_cast<NodeIndex>(node)));
  }
  state.left = is_monotone() ? Budget{} : case_.budget;
  state.may_cancel = case_.may_cancel.has_value();
  state.packets = first_packets_;
  return state;
}

Outcome Search::run() {
  const auto start = std::chrono::steady_clock::now();
  const GlobalState first = first_state();
  pack(first);
  visited_.insert(fingerprint(packed_.data(), packed_.size()));
  origins_.push_back({});
  next_level_.push_back(static_cast<std::uint16_t>(packed_.size()));
  next_level_.insert(next_level_.end(), packed_.begin(), packed_.end());

  while (!next_level_.empty() && outcome_.violation.empty()) {
    level_.swap(next_level_);
    next_level_.clear();
    for (std::size_t at = 0; at < level_.size() && outcome_.violation.empty(); ++expanding_) {
      const std::size_t begin = at + 1;
      const std::size_t end = begin + level_[at];
      at = end;
      expand(unpack(begin, end));
      if (visited_.size() > case_.states_max) break;
    }
    if (visited_.size() > case_.states_max) break;
    ++outcome_.depth;
  }
  outcome_.exhausted = outcome_.violation.empty() && next_level_.empty();
  outcome_.states = visited_.size();
  outcome_.machine_combinations = combinations_.size();
  outcome_.packets = steps_.machines().packet_count();
  outcome_.machine_runs = steps_.machines().runs();
  outcome_.progress_inputs_max = progress_.inputs_max();
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
  outcome_.seconds = took.count();
  return outcome_;
}

void Search::expand(const GlobalState& state) {
  for (std::uint16_t worker = 0; worker < steps_.wiring().worker_count(); ++worker) {
    const auto node = static_cast<NodeIndex>(worker);
    const StateId id = state.machines[worker];
    if (steps_.facts(node, id).submitted == 0) {
      visit(state, {ActionKind::submit, worker});
    } else if (steps_.has_timer(node, id) && (is_monotone() || state.left.timeouts > 0)) {
      visit(state, {ActionKind::expire_first, worker});
      visit(state, {ActionKind::expire_all, worker});
    }
    if (state.may_cancel && worker == *case_.may_cancel) visit(state, {ActionKind::cancel, worker});
  }
  for (std::size_t i = 0; i < state.packets.size(); ++i) {
    if (i > 0 && state.packets[i] == state.packets[i - 1]) continue;
    visit(state, {ActionKind::deliver, state.packets[i]});
    if (state.left.duplicates > 0) visit(state, {ActionKind::duplicate, state.packets[i]});
    if (state.left.losses > 0) visit(state, {ActionKind::lose, state.packets[i]});
  }
}

void Search::visit(const GlobalState& from, Action action) {
  if (!outcome_.violation.empty()) return;
  ++outcome_.transitions;
  if (changes_nothing(from, action)) return;
  GlobalState state = from;
  const LocalStep* step = nullptr;
  std::string complaint = apply(state, action, &step, nullptr);
  pack(state);
  const bool is_new = visited_.insert(fingerprint(packed_.data(), packed_.size()));
  if (!is_new && complaint.empty()) return;
  origins_.push_back({expanding_, action});

  const std::size_t machine_words = state.machines.size() * 2;
  const bool is_new_combination =
      complaint.empty() && combinations_.insert(fingerprint(packed_.data(), machine_words));
  if (is_new_combination && !case_.safety_only) {
    complaint = progress_.check(state.machines);
  }
  if (!complaint.empty()) {
    outcome_.violation = complaint;
    for (auto at = static_cast<std::uint32_t>(origins_.size() - 1); at != 0;
         at = origins_[at].parent) {
      outcome_.trace.push_back(origins_[at].action);
    }
    std::reverse(outcome_.trace.begin(), outcome_.trace.end());
    return;
  }
  next_level_.push_back(static_cast<std::uint16_t>(packed_.size()));
  next_level_.insert(next_level_.end(), packed_.begin(), packed_.end());
}

// In the monotone model, the packets of such a delivery are in the network already.
bool Search::changes_nothing(const GlobalState& state, Action action) {
  if (!is_monotone() || action.kind != ActionKind::deliver) return false;
  const NodeIndex node = steps_.machines().packet(action.value).to.node;
  const LocalStep& step = steps_.deliver(node, state.machines[node], action.value);
  return step.next == state.machines[node] && step.complaint.empty();
}

std::string Search::apply(GlobalState& state, Action action, const LocalStep** step,
                          std::vector<Implied>* implied) {
  auto node = static_cast<NodeIndex>(action.value);
  *step = nullptr;
  switch (action.kind) {
    case ActionKind::lose:
      remove_packet(state.packets, action.value);
      --state.left.losses;
      return "";
    case ActionKind::duplicate:
    case ActionKind::deliver:
      node = steps_.machines().packet(action.value).to.node;
      if (action.kind == ActionKind::duplicate) {
        --state.left.duplicates;
      } else if (!is_monotone()) {
        remove_packet(state.packets, action.value);
      }
      *step = &steps_.deliver(node, state.machines[node], action.value);
      break;
    case ActionKind::submit:
      *step = &steps_.command(node, state.machines[node], Command::submit);
      break;
    case ActionKind::expire_first:
    case ActionKind::expire_all: {
      if (!is_monotone()) --state.left.timeouts;
      const bool all = action.kind == ActionKind::expire_all;
      *step = &steps_.command(node, state.machines[node],
                              all ? Command::expire_all : Command::expire_first);
      break;
    }
    case ActionKind::cancel:
      state.may_cancel = false;
      *step = &steps_.command(node, state.machines[node], Command::cancel);
      break;
  }
  std::string complaint = judge(state, node, **step);
  state.machines[node] = (*step)->next;
  for (const PacketId packet : (*step)->sent) add_packet(state.packets, packet, is_monotone());
  if (is_monotone()) saturate(state, node, (*step)->sent, implied);
  return complaint;
}

std::string Search::judge(const GlobalState& state, NodeIndex node, const LocalStep& step) const {
  if (!step.complaint.empty()) return step.complaint;
  for (std::uint64_t left = step.began; left != 0; left &= left - 1) {
    const auto chunk = static_cast<ChunkId>(std::countr_zero(left));
    std::string complaint = judge_reuse(state, node, steps_.machines().before_in_copy(chunk));
    if (!complaint.empty()) return complaint;
  }
  return "";
}

// `node` takes a contribution into a copy that held `before`. Returns what is wrong with that.
std::string Search::judge_reuse(const GlobalState& state, NodeIndex node, ChunkId before) const {
  if (before == kNoChunk) return "";
  for (std::uint32_t i = 0; i < steps_.wiring().worker_count(); ++i) {
    const auto worker = static_cast<NodeIndex>(i);
    if ((steps_.facts(worker, state.machines[worker]).results >> before & 1) == 0) {
      return "EARLY REUSE: " + steps_.wiring().name(node) + " sums into a copy while worker " +
             std::to_string(i) + " lacks the result it held";
    }
  }
  return "";
}

// Takes the steps that only send packets. `node` has just changed, and `fresh` has the packets that
// it put into the network. No other step can have become possible.
void Search::saturate(GlobalState& state, NodeIndex node, std::vector<PacketId> fresh,
                      std::vector<Implied>* implied) {
  std::vector<PacketId>& todo = fresh;
  for (const PacketId packet : state.packets) {
    if (steps_.machines().packet(packet).to.node == node) todo.push_back(packet);
  }
  const StateId id = state.machines[node];
  if (steps_.wiring().is_worker(node) && steps_.has_timer(node, id)) {
    for (const Command command : {Command::expire_first, Command::expire_all}) {
      imply(state, steps_.command(node, id, command), {node, true, 0, {}}, todo, implied);
    }
  }
  while (!todo.empty()) {
    const PacketId packet = todo.back();
    todo.pop_back();
    const NodeIndex to = steps_.machines().packet(packet).to.node;
    const LocalStep& step = steps_.deliver(to, state.machines[to], packet);
    imply(state, step, {to, false, packet, {}}, todo, implied);
  }
}

void Search::imply(GlobalState& state, const LocalStep& step, Implied what,
                   std::vector<PacketId>& fresh, std::vector<Implied>* implied) {
  if (step.next != state.machines[what.node] || !step.complaint.empty()) return;
  for (const PacketId packet : step.sent) {
    if (add_packet(state.packets, packet, true)) what.sent.push_back(packet);
  }
  fresh.insert(fresh.end(), what.sent.begin(), what.sent.end());
  if (implied != nullptr && !what.sent.empty()) implied->push_back(what);
}

void Search::pack(const GlobalState& state) {
  packed_.clear();
  for (const StateId id : state.machines) {
    packed_.push_back(static_cast<std::uint16_t>(id));
    packed_.push_back(static_cast<std::uint16_t>(id >> 16));
  }
  packed_.push_back(static_cast<std::uint16_t>(state.left.losses << 8 | state.left.duplicates));
  packed_.push_back(
      static_cast<std::uint16_t>(state.left.timeouts << 8 | (state.may_cancel ? 1 : 0)));
  packed_.insert(packed_.end(), state.packets.begin(), state.packets.end());
}

GlobalState Search::unpack(std::size_t begin, std::size_t end) const {
  GlobalState state;
  const std::size_t nodes = steps_.wiring().node_count();
  for (std::size_t i = 0; i < nodes; ++i) {
    state.machines.push_back(level_[begin + 2 * i] | static_cast<StateId>(level_[begin + 2 * i + 1])
                                                         << 16);
  }
  const std::size_t budget = begin + 2 * nodes;
  state.left.losses = static_cast<std::uint8_t>(level_[budget] >> 8);
  state.left.duplicates = static_cast<std::uint8_t>(level_[budget] & 0xFF);
  state.left.timeouts = static_cast<std::uint8_t>(level_[budget + 1] >> 8);
  state.may_cancel = (level_[budget + 1] & 1) != 0;
  state.packets.assign(level_.begin() + static_cast<std::ptrdiff_t>(budget + kBudgetWords),
                       level_.begin() + static_cast<std::ptrdiff_t>(end));
  return state;
}

}  // namespace infold::exhaustive
