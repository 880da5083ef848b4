// SPDX-License-Identifier: Apache-2.0
#include "study/emulate/emulator.h"

#include <new>
#include <optional>
#include <utility>

#include "io/host/clock.h"
#include "io/host/log.h"
#include "join/job_plan.h"
#include "join/refusals.h"

namespace infold::emulate {

namespace {

// A port that is free for UDP may be taken for TCP.
constexpr int kPortTries = 16;

}  // namespace

Started<std::unique_ptr<Emulator>> Emulator::start(const EmulationOptions& options) {
  for (int tries = options.listen.port() == 0 ? kPortTries : 1;; --tries) {
    auto portals = PortalServer::open(options);
    if (!portals) return tl::unexpected(portals.error());
    std::unique_ptr<Emulator> emulator(new Emulator(options, std::move(*portals)));
    const Started<void> listens = emulator->listen();
    if (listens) return emulator;
    if (tries == 1) return tl::unexpected(listens.error());
  }
}

Started<void> Emulator::listen() {
  io::SocketAddress join_address = options_.listen;
  join_address.set_port(address_.port());
  auto server = join::JoinServer::start(join_address, *ranks_);
  if (!server) {
    return tl::unexpected(StartError{server.error().where, server.error().detail, join_address});
  }
  join_server_ = std::move(*server);
  return {};
}

Emulator::Emulator(const EmulationOptions& options, std::unique_ptr<PortalServer> portals)
    : options_(options),
      portals_(std::move(portals)),
      address_(portals_->address()),
      loop_(std::make_unique<site::ServeLoop>("emulator", *portals_)) {
  EmulatedRanksOptions ranks = {options.ranks, options.real, options.shape, address_};
  for (std::uint32_t rank = 0; rank < options.real; ++rank) ranks.sites.push_back(sites_of(rank));
  ranks.rank_portals = portals_->rank_addresses();
  ranks_ = std::make_unique<EmulatedRanks>(*this, std::move(ranks));
}

// Both planes announce the end of jobs before anything is destroyed.
Emulator::~Emulator() {
  join_server_.reset();
  ranks_.reset();
  loop_->stop();
}

EmulationReport Emulator::report() {
  EmulationReport report;
  loop_->run([&] { report = portals_->report(); });
  return report;
}

// Returns the sites of the switch that a real rank is below.
std::vector<join::SiteAddress> Emulator::sites_of(std::uint32_t real_rank) const {
  const JobShape& shape = options_.shape;
  std::vector<join::SiteAddress> sites;
  for (const io::SocketAddress& address : portals_->switch_addresses(real_rank)) {
    const std::uint32_t weight = shape.weights[sites.size()];
    sites.push_back({text_for_ranks(address), weight, false, shape.record});
  }
  return sites;
}

std::uint32_t Emulator::datagram_bytes_max() const {
  const std::optional<plan::Plan>& wanted = options_.shape.wanted;
  return wanted ? wanted->datagram_bytes_max : kDatagramBytesMax;
}

// The registry makes the plan from what the ranks say. If the user has written a plan, the two must
// be equal.
std::optional<join::Refusal> Emulator::find_obstacle(const join::JobTerms& terms) const {
  const std::optional<plan::Plan>& wanted = options_.shape.wanted;
  if (!wanted) return std::nullopt;
  const auto difference = find_difference(*wanted, join::plan_of_sites(terms));
  if (!difference) return std::nullopt;
  return join::refusal(join::sentences::kOtherPlan, difference->text, difference->remedy);
}

join::Answer<void> Emulator::start_job(const join::JobTerms& terms) {
  std::optional<join::Refusal> refusal = find_obstacle(terms);
  if (refusal) return tl::unexpected(*refusal);
  loop_->run([&] {
    try {
      portals_->add(std::make_unique<EmulatedJob>(options_, terms, io::monotonic_now(),
                                                  portals_->deliver_to(terms.job)),
                    terms);
    } catch (const std::bad_alloc&) {
      refusal = join::refusal(join::sentences::kNoMemoryToEmulate);
    }
  });
  if (refusal) return tl::unexpected(*refusal);
  return {};
}

std::optional<core::Abort> Emulator::end_job(std::uint16_t job, const core::Abort& abort) {
  loop_->run([&] {
    EmulatedJob* const network = portals_->find(job);
    if (network != nullptr) network->end(io::monotonic_now(), abort);
    portals_->flush();
  });
  return std::nullopt;
}

void Emulator::forget_job(std::uint16_t job) {
  loop_->run([&] { portals_->remove(job); });
}

// If emulated ranks cannot make a call, the job ends as if the first emulated rank had left.
void Emulator::note_call(std::uint16_t job, const join::CallNote& note) {
  loop_->post([this, job, note] {
    EmulatedJob* const network = portals_->find(job);
    if (network == nullptr) return;
    const base::Instant now = io::monotonic_now();
    if (const base::Result<void> noted = network->note(now, note); !noted) {
      io::log(status::LogLevel::error, "not_emulated",
              {{"number", job}, {"reason", noted.error().detail}});
      const auto rank = static_cast<std::uint16_t>(options_.real);
      network->end(now, {core::AbortReason::cancelled, rank, rank, {}, {}});
    }
    portals_->flush();
  });
}

}  // namespace infold::emulate
