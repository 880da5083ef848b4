// SPDX-License-Identifier: Apache-2.0
#include "emulate/at_switch/switch_emulator.h"

#include <new>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "control/job_plan.h"
#include "io/host/clock.h"
#include "io/host/log.h"
#include "plan/plan_text.h"

namespace infold::emulate {
namespace {

tl::unexpected<control::Refusal> refuse(std::string message) {
  return tl::unexpected(control::Refusal{control::RefusalReason::broken, std::move(message), -1});
}

// A switch may answer with any terms. Emulated ranks share no host and have no rack of their own.
control::Answer<plan::Plan> plan_of_ranks(const control::JobTerms& terms, std::uint32_t ranks,
                                          std::uint32_t real) {
  plan::Plan plan = control::plan_of_sites(terms);
  const auto fault = plan::find_fault(plan);
  if (terms.world != ranks || fault) {
    return refuse("the switch has sent terms that make no plan: " +
                  fault.value_or("another number of ranks"));
  }
  for (const plan::Tree& tree : plan.trees) {
    for (std::uint32_t rank = real; rank < ranks; ++rank) {
      if (plan::position_of(tree, static_cast<std::uint16_t>(rank)).aggregator == 0) continue;
      return refuse(fmt::format(
          "the switch puts rank {}, which is emulated, into a rack or a host; it must be directly "
          "below the switch",
          rank));
    }
  }
  return plan;
}

control::Answer<std::vector<io::SocketAddress>> sites_of(const control::JobTerms& terms) {
  std::vector<io::SocketAddress> sites;
  for (const control::SiteAddress& site : terms.sites) {
    const auto address = io::SocketAddress::parse_number(site.address, "a site");
    if (!address || address->is_any()) {
      return refuse("the switch has a site at " + site.address + ", which is no address");
    }
    sites.push_back(*address);
  }
  return sites;
}

}  // namespace

Started<std::unique_ptr<SwitchEmulator>> SwitchEmulator::start(const EmulationOptions& options) {
  auto ranks = RankServer::open(options);
  if (!ranks) return tl::unexpected(ranks.error());
  std::unique_ptr<SwitchEmulator> emulator(new SwitchEmulator(options, std::move(*ranks)));
  auto server = control::ControlServer::start(options.listen, *emulator->relay_);
  if (!server) {
    return tl::unexpected(StartError{server.error().where, server.error().detail, options.listen});
  }
  emulator->control_ = std::move(*server);
  return emulator;
}

SwitchEmulator::SwitchEmulator(const EmulationOptions& options, std::unique_ptr<RankServer> ranks)
    : options_(options),
      server_(std::move(ranks)),
      loop_(std::make_unique<site::ServeLoop>("emulator", *server_)),
      relay_(std::make_unique<SwitchRelay>(
          *this, SwitchRelayOptions{options.ranks, options.real, options.real_switch})) {}

SwitchEmulator::~SwitchEmulator() {
  control_.reset();
  relay_.reset();  // its thread speaks to the loop
  loop_->stop();
}

EmulationReport SwitchEmulator::report() {
  EmulationReport report;
  loop_->run([&] { report = server_->report(); });
  return report;
}

control::Answer<void> SwitchEmulator::start_job(const control::JobTerms& terms) {
  if (const auto plan = plan_of_ranks(terms, options_.ranks, options_.real); !plan) {
    return tl::unexpected(plan.error());
  }
  const auto sites = sites_of(terms);
  if (!sites) return tl::unexpected(sites.error());
  control::Answer<void> answer;
  loop_->run([&] {
    if (server_->find(terms.job) != nullptr) {
      answer = refuse("the switch has given one number to two jobs");
      return;
    }
    try {
      server_->add(std::make_unique<EmulatedJob>(options_, terms, io::monotonic_now(),
                                                 server_->deliver_to(terms.job)),
                   terms.job, *sites);
    } catch (const std::bad_alloc&) {
      answer = tl::unexpected(control::Refusal{
          control::RefusalReason::full,
          "the emulator has no memory for the job; start it with fewer ranks", -1});
    }
  });
  return answer;
}

void SwitchEmulator::forget_job(std::uint16_t job) {
  loop_->run([&] { server_->remove(job); });
}

void SwitchEmulator::note_call(std::uint16_t job, const control::CallNote& note) {
  loop_->post([this, job, note] {
    EmulatedJob* const network = server_->find(job);
    if (network == nullptr) return;
    const base::Instant now = io::monotonic_now();
    if (const base::Result<void> noted = network->note(now, note); !noted) {
      io::log(status::LogLevel::error, "not_emulated",
              {{"number", job}, {"reason", noted.error().detail}});
      network->end(now, {core::AbortReason::cancelled, 0, 0, {}, {}});  // it takes no more calls
      relay_->fail(job);
    }
    server_->flush();
  });
}

}  // namespace infold::emulate
