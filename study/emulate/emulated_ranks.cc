// SPDX-License-Identifier: Apache-2.0
#include "study/emulate/emulated_ranks.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "join/join_event.h"
#include "join/rank_listener.h"
#include "join/refusals.h"

namespace infold::emulate {

using join::Hello;
using join::Parting;
using join::ReadyReport;
using join::Refusal;

namespace {

std::optional<Refusal> find_fault(const Hello& hello, RankCounts counts) {
  using namespace join::sentences;
  using join::refusal;
  if (hello.world != counts.ranks) {
    return refusal(kRanksOfEmulator, hello.job, counts.ranks, hello.world, hello.world);
  }
  if (hello.rank >= counts.real) {
    const std::string real =
        counts.real == 1 ? "rank 0 alone" : fmt::format("ranks 0 to {}", counts.real - 1);
    return refusal(kRankIsEmulated, hello.job, hello.rank, real, counts.real);
  }
  if (hello.site && !counts.all_sum) return refusal(kRealRankSums, hello.job, hello.rank);
  if (!hello.site && counts.all_sum) return refusal(kEmulatedRanksSum, hello.job, hello.rank);
  if (hello.rack) return refusal(kRackBelowEmulator, hello.job);
  return std::nullopt;
}

}  // namespace

std::optional<Refusal> refuse_rank(const Hello& hello, RankCounts counts) {
  const std::optional<Refusal> why = find_fault(hello, counts);
  return why ? join::pointing_at(hello.rank, *why) : why;
}

void log_refused(const Hello& hello, const Refusal& refusal) {
  join::JoinEvent event;
  event.kind = join::JoinEvent::refused;
  event.job = hello.job;
  event.world = hello.world;
  event.rank = static_cast<int>(hello.rank);
  event.address = hello.address;
  event.reason = refusal.message;
  join::log_event(event);
}

ReadyReport report_of_emulated(const ReadyReport& real, std::uint32_t first) {
  ReadyReport alike = real;
  alike.shares_memory = false;
  if (real.verifies.value_or(false)) {
    alike.obstacle = join::pointing_at(first, join::refusal(join::sentences::kNothingToVerify));
  }
  return alike;
}

// An emulated rank does not have to answer anything, because the plane sends its packets.
class EmulatedRanks::Listener final : public join::RankListener {
 public:
  void all_here(const join::JobTerms&) override {}
  void all_ready(const std::vector<join::HostGroup>&) override {}
  void refused(const Refusal&) override {}
  void ended(const join::JobEnd&) override {}
  void dismissed() override {}
};

std::string text_for_ranks(const io::SocketAddress& address) {
  return address.is_any() ? ":" + std::to_string(address.port()) : address.text_elsewhere();
}

// Shows a real rank the sites of the switch that it is below. All other ranks and their sites
// appear to be at the emulator.
class EmulatedRanks::AtSwitch final : public join::RankListener {
 public:
  struct View {
    std::uint32_t rank = 0;
    std::vector<join::SiteAddress> sites;
    std::vector<io::SocketAddress> rank_portals;
    std::string parent;  // the parent of a rack's switch, for errors
  };

  AtSwitch(std::shared_ptr<join::RankListener> rank, View view)
      : rank_(std::move(rank)), view_(std::move(view)) {}
  void all_here(const join::JobTerms& terms) override {
    join::JobTerms own = terms;
    own.sites = view_.sites;
    own.parent = view_.parent;
    add_sites_of_ranks(terms, own);
    rank_->all_here(own);
  }
  void all_ready(const std::vector<join::HostGroup>& groups) override { rank_->all_ready(groups); }
  void refused(const Refusal& refusal) override { rank_->refused(refusal); }
  void ended(const join::JobEnd& end) override { rank_->ended(end); }
  void dismissed() override { rank_->dismissed(); }

 private:
  // Adds the sites of ranks, in the order of ranks.
  void add_sites_of_ranks(const join::JobTerms& terms, join::JobTerms& own) const {
    std::uint32_t rank = 0;
    for (const join::SiteAddress& site : terms.sites) {
      if (!site.at_rank) continue;
      own.sites.push_back(site);
      if (rank != view_.rank) {
        const io::SocketAddress& portal = view_.rank_portals[rank];
        own.sites.back().address = text_for_ranks(portal);
        // A socket that is bound to all interfaces may send from any of them.
        own.rank_sources[rank] = portal.is_any() ? io::SocketAddress() : portal;
      }
      ++rank;
    }
  }

  const std::shared_ptr<join::RankListener> rank_;
  const View view_;
};

// An emulated rank's site has the weight that the real rank says, or the weight in the plan.
std::optional<join::SiteAddress> EmulatedRanks::site_of(const Hello& hello) const {
  const JobShape& shape = options_.shape;
  std::optional<join::SiteAddress> site = hello.site;
  if (!site) return site;
  site->weight = std::max(site->weight, 1U);  // ranks that leave the weight open agree on 1
  if (hello.rank < options_.real) return site;
  site->address = text_for_ranks(options_.rank_portals[hello.rank]);
  site->record = shape.record;
  if (shape.wanted) {
    site->weight = shape.wanted->trees[shape.weights.size() + hello.rank].weight;
  }
  return site;
}

// Returns the rank's hello, changed to describe its place: its site, the switch that it is below,
// and its host.
Hello EmulatedRanks::placed(const Hello& hello) const {
  const JobShape& shape = options_.shape;
  Hello own = hello;
  own.host.reset();  // so that all packets of a real rank come here
  own.always_shares = false;
  own.rack.reset();
  own.site = site_of(hello);
  if (const auto* const host = host_of(shape, options_.real, hello.rank)) {
    const std::string name = fmt::format("emulated host of rank {}", host->first);
    own.host = join::RankHost{name, name};
    own.always_shares = true;
  }
  if (const auto* const rack = core::find_range(shape.racks, hello.rank)) {
    own.rack = join::RackHello{fmt::format("emulated rack of rank {}", rack->first),
                               options_.address.text(),
                               static_cast<std::uint32_t>(shape.weights.size()),
                               shape.record,
                               {}};
  }
  if (shape.wanted) {
    own.small_slots = std::min<std::uint32_t>(own.small_slots, shape.wanted->small_slots);
    own.bulk_slots = std::min<std::uint32_t>(own.bulk_slots, shape.wanted->bulk_slots);
  }
  return own;
}

join::Registrar::Entry EmulatedRanks::enter(const Hello& hello,
                                            std::shared_ptr<join::RankListener> listener) {
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
    // The lock is held, so that the group knows the rank before the rank can leave.
    const base::MutexLock lock(mutex_);
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
  const base::MutexLock lock(mutex_);
  const auto group = groups_.find(real.job);
  if (group == groups_.end()) return;
  for (std::uint32_t rank = options_.real; rank < options_.ranks; ++rank) {
    Hello hello = real;
    hello.rank = rank;
    hello = placed(hello);
    hello.address.clear();
    hello.source = {};
    hello.patience = std::chrono::hours(1);
    group->second.emulated.push_back(registry_.enter(hello, std::make_shared<Listener>()));
  }
}

void EmulatedRanks::ready(Entry entry, const ReadyReport& report) {
  std::vector<Entry> emulated;
  {
    const base::MutexLock lock(mutex_);
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
    alike.shares_memory = host_of(options_.shape, options_.real, rank) != nullptr;
    registry_.ready(emulated[i], alike);
  }
}

void EmulatedRanks::leave(Entry entry, const Parting& parting) {
  std::vector<Entry> emulated;
  {
    const base::MutexLock lock(mutex_);
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
