// SPDX-License-Identifier: Apache-2.0
//
// Turns steps into sentences. In the monotone model, a packet can come from steps that the search
// took at once. These steps are told just before the first step that needs them.
#include "tests/exhaustive/narrate.h"

#include <cstdio>
#include <map>
#include <set>

#include "core/packet/packet.h"

namespace infold::exhaustive {
namespace {

const char* kind_word(core::Kind kind) {
  switch (kind) {
    case core::Kind::add: return "add";
    case core::Kind::skip: return "skip";
    case core::Kind::partial: return "partial sum";
    case core::Kind::overrange: return "overrange";
    case core::Kind::query: return "query";
    case core::Kind::abort: return "abort";
    case core::Kind::result: return "result";
    case core::Kind::realign: return "realign";
    case core::Kind::pending: return "pending";
    case core::Kind::aborted: return "aborted";
  }
  return "packet";
}

class Narrator {
 public:
  explicit Narrator(Search& search) : search_(search), state_(search_.first_state()) {}

  std::string tell(const Outcome& outcome) {
    for (const Action action : outcome.trace) take(action);
    return text_;
  }

 private:
  void take(Action action) {
    if (action.kind <= ActionKind::lose) explain(action.value);
    const LocalStep* step = nullptr;
    std::vector<Search::Implied> implied;
    const std::string complaint = search_.apply(state_, action, &step, &implied);
    std::string line = what(action);
    if (step != nullptr) line += after(*step);
    add_line(line);
    if (!complaint.empty()) add_line(complaint);
    if (step != nullptr) known_.insert(step->sent.begin(), step->sent.end());
    for (const Search::Implied& one : implied) {
      for (const PacketId packet : one.sent) origin_.try_emplace(packet, one);
    }
  }

  // Tells the untold steps that a packet came from.
  void explain(PacketId packet) {
    if (known_.contains(packet) || !origin_.contains(packet)) return;
    const Search::Implied one = origin_.at(packet);
    const std::string who = search_.machines().wiring().name(one.node);
    std::string line;
    if (one.by_timer) {
      line = "a timer of " + who + " fires";
    } else {
      explain(one.packet);
      line = who + " receives " + packet_words(one.packet) + " (a repeat, or nothing new to it)";
    }
    known_.insert(one.sent.begin(), one.sent.end());
    add_line(line + sends(one.sent));
  }

  std::string what(Action action) {
    const std::string packet = action.kind <= ActionKind::lose ? packet_words(action.value) : "";
    const std::string who =
        action.kind > ActionKind::lose
            ? search_.machines().wiring().name(static_cast<NodeIndex>(action.value))
            : "";
    switch (action.kind) {
      case ActionKind::deliver: return receiver(action.value) + " receives " + packet;
      case ActionKind::duplicate:
        return receiver(action.value) + " receives " + packet + ", and a copy stays on its way";
      case ActionKind::lose: return "the network loses " + packet + " to " + receiver(action.value);
      case ActionKind::submit: return who + " submits its tensors";
      case ActionKind::expire_first: return "a timer of " + who + " fires";
      case ActionKind::expire_all: return who + " wakes from a long pause";
      case ActionKind::cancel: return who + " cancels";
    }
    return "";
  }

  std::string after(const LocalStep& step) {
    std::string text;
    if (*step.verdict != 0) text += std::string(" [") + step.verdict + "]";
    if (step.written != 0) text += ", takes its sum";
    return text + sends(step.sent);
  }

  std::string sends(const std::vector<PacketId>& sent) {
    std::string text;
    for (const PacketId packet : sent) {
      text += (text.empty() ? "; sends " : ", ") + packet_words(packet) + " to " + receiver(packet);
    }
    return text;
  }

  std::string receiver(PacketId packet) {
    const Machines& machines = search_.machines();
    return machines.wiring().name(machines.packet(packet).to.node);
  }

  std::string packet_words(PacketId id) {
    const PacketInfo& packet = search_.machines().packet(id);
    std::string text = kind_word(packet.kind);
    if (packet.kind < core::Kind::result) text += " of " + std::to_string(packet.sender);
    if (packet.chunk == kNoChunk) return text;
    text += " (slot " + std::to_string(packet.slot) + " round " + std::to_string(packet.round);
    core::Packet view;
    core::parse(packet.bytes, view);
    if (view.elements != nullptr && view.header.signature.layout().element_bytes() == 4) {
      std::uint32_t first = 0;
      std::memcpy(&first, view.elements, sizeof first);
      char hex[24];
      std::snprintf(hex, sizeof hex, " [0x%x ..]", first);
      text += hex;
    }
    return text + ")";
  }

  void add_line(const std::string& line) {
    text_ += std::to_string(++lines_) + ") " + line + ".\n";
  }

  Search& search_;
  GlobalState state_;
  std::set<PacketId> known_;
  std::map<PacketId, Search::Implied> origin_;
  std::string text_;
  int lines_ = 0;
};

}  // namespace

std::string narrate(Search& search, const Outcome& outcome) {
  return Narrator(search).tell(outcome) + "=> " + outcome.violation + "\n";
}

std::string figures(const Case& model_case, const Outcome& outcome) {
  char text[320];
  std::snprintf(text, sizeof text,
                "%s: %s, %llu states, %llu transitions, depth %u, %llu machine combinations, "
                "%u packets, %llu machine runs, recovery within %u inputs, %.1f s",
                model_case.name.c_str(),
                outcome.exhausted
                    ? "all states visited"
                    : (outcome.violation.empty() ? "STOPPED at its bound" : "violated"),
                static_cast<unsigned long long>(outcome.states),
                static_cast<unsigned long long>(outcome.transitions), outcome.depth,
                static_cast<unsigned long long>(outcome.machine_combinations), outcome.packets,
                static_cast<unsigned long long>(outcome.machine_runs), outcome.progress_inputs_max,
                outcome.seconds);
  return text;
}

}  // namespace infold::exhaustive
