// SPDX-License-Identifier: Apache-2.0
#include "study/emulate/at_switch/switch_emulator.h"

#include <algorithm>
#include <new>
#include <utility>

#include "io/host/clock.h"
#include "io/host/log.h"
#include "join/job_plan.h"
#include "join/refusals.h"
#include "plan/plan_text.h"
#include "study/emulate/emulated_ranks.h"

namespace infold::emulate {
namespace {

using namespace join::sentences;

// Sites at ranks come last. A real rank may have joined at the switch itself, and may differ from
// the ranks of the emulator.
bool all_or_none_sum(const join::JobTerms& terms, bool ranks_sum) {
  const auto first = std::find_if(terms.sites.begin(), terms.sites.end(),
                                  [](const join::SiteAddress& site) { return site.at_rank; });
  const auto count = static_cast<std::uint32_t>(terms.sites.end() - first);
  return count == (ranks_sum ? terms.world : 0) &&
         std::all_of(first, terms.sites.end(), [](const auto& site) { return site.at_rank; });
}

// Sites at ranks are in the order of ranks.
bool ends_with(const join::JobTerms& terms, const std::vector<io::SocketAddress>& of_emulated) {
  return std::equal(of_emulated.rbegin(), of_emulated.rend(), terms.sites.rbegin(),
                    [](const io::SocketAddress& own, const join::SiteAddress& said) {
                      return text_for_ranks(own) == said.address;
                    });
}

// A switch may answer with any terms, so this checks them. Emulated ranks do not share a host or
// have a rack of their own. Where ranks sum, every rank must be directly below each rank's site.
join::Answer<void> check(const join::JobTerms& terms, const EmulationOptions& options) {
  const plan::Plan plan = join::plan_of_sites(terms);
  const auto fault = plan::find_fault(plan);
  if (terms.world != options.ranks || fault) {
    return join::refused(kNoPlan, fault.value_or("another number of ranks"));
  }
  if (!all_or_none_sum(terms, options.shape.ranks_sum)) {
    return join::refused(kSomeRanksSum);
  }
  for (const plan::Tree& tree : plan.trees) {
    const bool is_at_rank = tree.aggregators.front().place == plan::Place::rank;
    for (std::uint32_t rank = is_at_rank ? 0 : options.real; rank < options.ranks; ++rank) {
      if (plan::position_of(tree, static_cast<std::uint16_t>(rank)).aggregator == 0) continue;
      return join::refused(kRankInRack, rank, rank < options.real ? "sums a share" : "is emulated",
                           is_at_rank ? "sites of ranks" : "switch");
    }
  }
  return {};
}

// Returns the addresses of all sites. A real rank's site may have a link-local address, which gets
// its interface from the switch's address.
join::Answer<std::vector<io::SocketAddress>> sites_of(const join::JobTerms& terms,
                                                      const io::SocketAddress& real_switch) {
  std::vector<io::SocketAddress> sites;
  for (const join::SiteAddress& site : terms.sites) {
    auto address = io::SocketAddress::parse_number(site.address, "a site");
    if (!address || address->is_any()) {
      return join::refused(kSiteOfSwitch, site.address);
    }
    address->take_link(real_switch);
    sites.push_back(*address);
  }
  return sites;
}

}  // namespace

Started<std::unique_ptr<SwitchEmulator>> SwitchEmulator::start(const EmulationOptions& options) {
  auto ranks = RankServer::open(options);
  if (!ranks) return tl::unexpected(ranks.error());
  std::unique_ptr<SwitchEmulator> emulator(new SwitchEmulator(options, std::move(*ranks)));
  auto server = join::JoinServer::start(options.listen, *emulator->relay_);
  if (!server) {
    return tl::unexpected(StartError{server.error().where, server.error().detail, options.listen});
  }
  emulator->join_server_ = std::move(*server);
  return emulator;
}

SwitchEmulator::SwitchEmulator(const EmulationOptions& options, std::unique_ptr<RankServer> ranks)
    : options_(options),
      server_(std::move(ranks)),
      loop_(std::make_unique<site::ServeLoop>("emulator", *server_)),
      relay_(std::make_unique<SwitchRelay>(
          *this, SwitchRelayOptions{.ranks = options.ranks,
                                    .real = options.real,
                                    .real_switch = options.real_switch,
                                    .rank_sites = options.shape.ranks_sum
                                                      ? server_->addresses()
                                                      : std::vector<io::SocketAddress>(),
                                    .switch_weight = options.shape.weights.front()})) {}

SwitchEmulator::~SwitchEmulator() {
  join_server_.reset();
  relay_.reset();  // its thread calls the loop
  loop_->stop();
}

EmulationReport SwitchEmulator::report() {
  EmulationReport report;
  loop_->run([&] { report = server_->report(); });
  return report;
}

join::Answer<void> SwitchEmulator::start_job(const join::JobTerms& terms) {
  if (const auto checked = check(terms, options_); !checked) return checked;
  const auto sites = sites_of(terms, options_.real_switch);
  if (!sites) return tl::unexpected(sites.error());
  if (options_.shape.ranks_sum && !ends_with(terms, server_->addresses())) {
    return join::refused(kOtherEmulatedSites);
  }
  join::Answer<void> answer;
  loop_->run([&] {
    if (server_->find(terms.job) != nullptr) {
      answer = join::refused(kOneNumberTwice);
      return;
    }
    try {
      server_->add(std::make_unique<EmulatedJob>(options_, terms, io::monotonic_now(),
                                                 server_->deliver_to(terms.job)),
                   terms, *sites);
    } catch (const std::bad_alloc&) {
      answer = join::refused(kNoMemoryForRanks);
    }
  });
  return answer;
}

void SwitchEmulator::forget_job(std::uint16_t job) {
  loop_->run([&] { server_->remove(job); });
}

void SwitchEmulator::note_call(std::uint16_t job, const join::CallNote& note) {
  loop_->post([this, job, note] {
    EmulatedJob* const network = server_->find(job);
    if (network == nullptr) return;
    const base::Instant now = io::monotonic_now();
    if (const base::Result<void> noted = network->note(now, note); !noted) {
      io::log(status::LogLevel::error, "not_emulated",
              {{"number", job}, {"reason", noted.error().detail}});
      const auto rank = static_cast<std::uint16_t>(options_.real);
      network->end(now, {core::AbortReason::cancelled, rank, rank, {}, {}});  // no more calls
      relay_->fail(job);
    }
    server_->flush();
  });
}

}  // namespace infold::emulate
