// SPDX-License-Identifier: Apache-2.0
#include "emulate/emulated_ranks.h"

#include <utility>

#include <fmt/format.h>

#include "control/rank_listener.h"

namespace infold::emulate {

using control::Hello;
using control::Parting;
using control::ReadyReport;
using control::Refusal;
using control::RefusalReason;

// An emulated rank hears nothing that it has to answer: its packets come from the plane.
class EmulatedRanks::Listener final : public control::RankListener {
 public:
  void all_here(const control::JobTerms&) override {}
  void all_ready(const std::vector<control::HostGroup>&) override {}
  void refused(const Refusal&) override {}
  void ended(const control::JobEnd&) override {}
  void dismissed() override {}
};

std::string EmulatedRanks::find_obstacle(const Hello& hello) const {
  if (hello.world != ranks_) {
    return fmt::format("the emulator has {} ranks, and the job has {}; start it with --ranks {}",
                       ranks_, hello.world, hello.world);
  }
  if (hello.rank >= real_) {
    return fmt::format("rank {} is emulated; real are {} (--real {})", hello.rank,
                       real_ == 1 ? "rank 0 alone" : fmt::format("ranks 0 to {}", real_ - 1),
                       real_);
  }
  if (hello.site) return "ranks that sum cannot be emulated; join with a switch (INFOLD_SITES)";
  if (hello.rack) return "a rack's switch cannot be below an emulator";
  return {};
}

control::Registrar::Entry EmulatedRanks::enter(const Hello& hello,
                                               std::shared_ptr<control::RankListener> listener) {
  if (const std::string why = find_obstacle(hello); !why.empty()) {
    listener->refused({RefusalReason::invalid, fmt::format("job '{}': {}", hello.job, why),
                       static_cast<int>(hello.rank)});
    return Entry{};
  }
  Hello alone = hello;
  alone.host.reset();  // so that all of its packets come here
  bool is_first = false;
  Entry entry{};
  {
    // With the lock, so that the group knows the rank before the rank can leave.
    const std::lock_guard lock(mutex_);
    Group& group = groups_[hello.job];
    is_first = group.real.empty() && group.emulated.empty();
    entry = registry_.enter(alone, std::move(listener));
    group.real.insert(entry);
    names_[entry] = hello.job;
  }
  if (is_first) add_emulated(alone);
  return entry;
}

void EmulatedRanks::add_emulated(const Hello& real) {
  const std::lock_guard lock(mutex_);
  const auto group = groups_.find(real.job);
  if (group == groups_.end()) return;
  for (std::uint32_t rank = real_; rank < ranks_; ++rank) {
    Hello hello = real;
    hello.rank = rank;
    hello.peer.clear();
    hello.source = {};
    hello.patience = std::chrono::hours(1);
    group->second.emulated.push_back(registry_.enter(hello, std::make_shared<Listener>()));
  }
}

void EmulatedRanks::ready(Entry entry, const ReadyReport& report) {
  std::vector<Entry> emulated;
  {
    const std::lock_guard lock(mutex_);
    const auto name = names_.find(entry);
    if (name != names_.end()) {
      Group& group = groups_[name->second];
      if (!std::exchange(group.is_ready, true)) emulated = group.emulated;
    }
  }
  registry_.ready(entry, report);
  ReadyReport alike = report;
  if (report.verifies.value_or(false)) {
    alike.obstacle = Refusal{RefusalReason::invalid,
                             "emulated ranks have no results to compare; switch off verify "
                             "(INFOLD_VERIFY)",
                             static_cast<int>(real_)};
  }
  for (const Entry each : emulated) registry_.ready(each, alike);
}

void EmulatedRanks::leave(Entry entry, const Parting& parting) {
  std::vector<Entry> emulated;
  {
    const std::lock_guard lock(mutex_);
    const auto name = names_.find(entry);
    if (name != names_.end()) {
      const auto group = groups_.find(name->second);
      group->second.real.erase(entry);
      if (group->second.real.empty()) {
        emulated = std::move(group->second.emulated);
        groups_.erase(group);
      }
      names_.erase(name);
    }
  }
  registry_.leave(entry, parting);
  for (const Entry each : emulated) registry_.leave(each, Parting::in_order);
}

}  // namespace infold::emulate
