// SPDX-License-Identifier: Apache-2.0
#include "emulate/emulated_ranks.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "control/control_event.h"
#include "control/rank_listener.h"

namespace infold::emulate {

using control::Hello;
using control::Parting;
using control::ReadyReport;
using control::Refusal;
using control::RefusalReason;

std::optional<Refusal> refuse_rank(const Hello& hello, RankCounts counts) {
  std::string why;
  if (hello.world != counts.ranks) {
    why = fmt::format("the emulator has {} ranks, and the job has {}; start it with --ranks {}",
                      counts.ranks, hello.world, hello.world);
  } else if (hello.rank >= counts.real) {
    const std::string real =
        counts.real == 1 ? "rank 0 alone" : fmt::format("ranks 0 to {}", counts.real - 1);
    why =
        fmt::format("rank {} is emulated; real are {} (--real {})", hello.rank, real, counts.real);
  } else if (hello.site && !counts.all_sum) {
    why = fmt::format(
        "rank {} sums a share, and emulated ranks do not; join with INFOLD_SITES=switches, or "
        "start the emulator with --sites mixed",
        hello.rank);
  } else if (!hello.site && counts.all_sum) {
    why = fmt::format(
        "rank {} sums no share, and emulated ranks do; join with INFOLD_SITES=mixed, or start the "
        "emulator with --sites switches",
        hello.rank);
  } else if (hello.rack) {
    why = "a rack's switch cannot be below an emulator";
  }
  if (why.empty()) return std::nullopt;
  return Refusal{RefusalReason::invalid, fmt::format("job '{}': {}", hello.job, why),
                 static_cast<int>(hello.rank)};
}

void log_refused(const Hello& hello, const Refusal& refusal) {
  control::ControlEvent event;
  event.kind = control::ControlEvent::refused;
  event.job = hello.job;
  event.world = hello.world;
  event.rank = static_cast<int>(hello.rank);
  event.peer = hello.peer;
  event.reason = refusal.message;
  control::log_event(event);
}

ReadyReport report_of_emulated(const ReadyReport& real, std::uint32_t first) {
  ReadyReport alike = real;
  alike.shares_memory = false;
  if (real.verifies.value_or(false)) {
    alike.obstacle = Refusal{RefusalReason::invalid,
                             "emulated ranks have no results to compare; switch off verify "
                             "(INFOLD_VERIFY)",
                             static_cast<int>(first)};
  }
  return alike;
}

// An emulated rank hears nothing that it has to answer: its packets come from the plane.
class EmulatedRanks::Listener final : public control::RankListener {
 public:
  void all_here(const control::JobTerms&) override {}
  void all_ready(const std::vector<control::HostGroup>&) override {}
  void refused(const Refusal&) override {}
  void ended(const control::JobEnd&) override {}
  void dismissed() override {}
};

std::string text_for_ranks(const io::SocketAddress& address) {
  return address.is_any() ? ":" + std::to_string(address.port()) : address.text_elsewhere();
}

// A real rank hears of the sites of the switch that it is below. All other ranks, and their sites,
// are at the emulator for it.
class EmulatedRanks::AtSwitch final : public control::RankListener {
 public:
  struct View {
    std::uint32_t rank = 0;
    std::vector<control::SiteAddress> sites;
    std::vector<io::SocketAddress> rank_portals;
    std::string parent;  // of a rack's switch, for errors
  };

  AtSwitch(std::shared_ptr<control::RankListener> rank, View view)
      : rank_(std::move(rank)), view_(std::move(view)) {}
  void all_here(const control::JobTerms& terms) override {
    control::JobTerms own = terms;
    own.sites = view_.sites;
    own.parent = view_.parent;
    add_sites_of_ranks(terms, own);
    rank_->all_here(own);
  }
  void all_ready(const std::vector<control::HostGroup>& groups) override {
    rank_->all_ready(groups);
  }
  void refused(const Refusal& refusal) override { rank_->refused(refusal); }
  void ended(const control::JobEnd& end) override { rank_->ended(end); }
  void dismissed() override { rank_->dismissed(); }

 private:
  // They are in the order of ranks.
  void add_sites_of_ranks(const control::JobTerms& terms, control::JobTerms& own) const {
    std::uint32_t rank = 0;
    for (const control::SiteAddress& site : terms.sites) {
      if (!site.at_rank) continue;
      own.sites.push_back(site);
      if (rank != view_.rank) {
        const io::SocketAddress& portal = view_.rank_portals[rank];
        own.sites.back().address = text_for_ranks(portal);
        // A socket of all interfaces sends from any of them.
        own.rank_sources[rank] = portal.is_any() ? io::SocketAddress() : portal;
      }
      ++rank;
    }
  }

  const std::shared_ptr<control::RankListener> rank_;
  const View view_;
};

// An emulated rank has the weight that a real one says, or that of the plan.
std::optional<control::SiteAddress> EmulatedRanks::site_of(const Hello& hello) const {
  const Placement& placement = options_.placement;
  std::optional<control::SiteAddress> site = hello.site;
  if (!site) return site;
  site->weight = std::max(site->weight, 1U);  // ranks that leave it open agree to 1
  if (hello.rank < options_.real) return site;
  site->address = text_for_ranks(options_.rank_portals[hello.rank]);
  site->record = placement.record;
  if (placement.wanted) {
    site->weight = placement.wanted->trees[placement.weights.size() + hello.rank].weight;
  }
  return site;
}

// What a rank in its place says of its site, of the switch that it is below and of its host.
Hello EmulatedRanks::placed(const Hello& hello) const {
  const Placement& placement = options_.placement;
  Hello own = hello;
  own.host.reset();  // so that all of a real rank's packets come here
  own.always_shares = false;
  own.rack.reset();
  own.site = site_of(hello);
  if (const auto* const host = host_of(placement, options_.real, hello.rank)) {
    const std::string name = fmt::format("emulated host of rank {}", host->first);
    own.host = control::RankHost{name, name};
    own.always_shares = true;
  }
  if (const auto* const rack = core::find_range(placement.racks, hello.rank)) {
    own.rack = control::RackHello{fmt::format("emulated rack of rank {}", rack->first),
                                  options_.address.text(),
                                  static_cast<std::uint32_t>(placement.weights.size()),
                                  placement.record,
                                  {}};
  }
  if (placement.wanted) {
    own.small_slots = std::min<std::uint32_t>(own.small_slots, placement.wanted->small_slots);
    own.bulk_slots = std::min<std::uint32_t>(own.bulk_slots, placement.wanted->bulk_slots);
  }
  return own;
}

control::Registrar::Entry EmulatedRanks::enter(const Hello& hello,
                                               std::shared_ptr<control::RankListener> listener) {
  if (const auto refusal = refuse_rank(hello, counts())) {
    log_refused(hello, *refusal);
    listener->refused(*refusal);
    return Entry{};
  }
  const Hello own = placed(hello);
  listener = std::make_shared<AtSwitch>(
      std::move(listener),
      AtSwitch::View{hello.rank, options_.sites[hello.rank], options_.rank_portals,
                     own.rack ? options_.address.text() : std::string()});
  bool is_first = false;
  Entry entry{};
  {
    // With the lock, so that the group knows the rank before the rank can leave.
    const std::lock_guard lock(mutex_);
    Group& group = groups_[hello.job];
    is_first = group.real.empty() && group.emulated.empty();
    entry = registry_.enter(own, std::move(listener));
    group.real.insert(entry);
    names_[entry] = hello.job;
  }
  if (is_first) add_emulated(own);
  return entry;
}

void EmulatedRanks::add_emulated(const Hello& real) {
  const std::lock_guard lock(mutex_);
  const auto group = groups_.find(real.job);
  if (group == groups_.end()) return;
  for (std::uint32_t rank = options_.real; rank < options_.ranks; ++rank) {
    Hello hello = real;
    hello.rank = rank;
    hello = placed(hello);
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
  ReadyReport alike = report_of_emulated(report, options_.real);
  for (std::size_t i = 0; i < emulated.size(); ++i) {
    const auto rank = options_.real + static_cast<std::uint32_t>(i);
    alike.shares_memory = host_of(options_.placement, options_.real, rank) != nullptr;
    registry_.ready(emulated[i], alike);
  }
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
