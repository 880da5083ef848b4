// SPDX-License-Identifier: Apache-2.0
//
// Communicator::join: makes a session with the job's join servers, and a member on top of it.
#include "api/joining/join.h"

#include <new>
#include <string>
#include <system_error>
#include <utility>

#include <infold/communicator.h>

#include "api/environment.h"
#include "io/host/clock.h"
#include "io/host/log.h"
#include "rank/session/job_session.h"

namespace infold {
namespace api {
namespace {

std::string places_of(const rank::JobSession::Setup& setup) {
  if (setup.paths.parties_on_network == 0) return "the memory of this host";
  std::string places;
  for (const std::string& name : setup.site_names) places += (places.empty() ? "" : ", ") + name;
  return places;
}

// Logs the outcome of joining as one line. Coming back is a warning, like the loss of the switch
// before it. A failure has a lower level, because the program gets it as an error.
void log_outcome(const JoinOptions& options, bool is_again, base::Instant begun,
                 const rank::JobSession::Setup& setup, const Error* error) {
  const double took_ms = static_cast<double>((io::monotonic_now() - begun).ns) / 1e6;
  if (error != nullptr) {
    io::log(is_again ? status::LogLevel::debug : status::LogLevel::info, "join_failed",
            {{"job", options.job},
             {"rank", options.rank},
             {"reason", error->message},
             {"took_ms", took_ms}});
    return;
  }
  io::log(is_again ? status::LogLevel::warn : status::LogLevel::info,
          is_again ? "rank_rejoined" : "rank_joined",
          {{"job", options.job},
           {"rank", options.rank},
           {"world", options.world},
           {"sums_at", places_of(setup)},
           {"took_ms", took_ms}});
}

Result<std::shared_ptr<rank::JobSession>> enter(const JoinOptions& options,
                                                const rank::CallHistory* history,
                                                const EndpointWrap& wrap,
                                                rank::JobSession::Setup& setup) {
  const base::Instant begun = io::monotonic_now();
  auto joined =
      rank::JobSession::join(options, history != nullptr ? *history : rank::CallHistory{}, setup);
  log_outcome(options, history != nullptr, begun, setup, joined ? nullptr : &joined.error());
  if (!joined) return tl::unexpected(std::move(joined.error()));
  for (rank::DrivenSites& share : setup.shares) {
    if (wrap) share.endpoint = wrap(std::move(share.endpoint));
  }
  return std::shared_ptr<rank::JobSession>(std::move(*joined));
}

// The session stops listening before the member is destroyed.
void watch(rank::JobSession& session, rank::Member& member) {
  session.watch({[&member](std::uint32_t rank) { member.lose_rank(rank); },
                 [&member](std::uint8_t site, const std::string& lost_switch) {
                   member.lose_site(site, lost_switch);
                 },
                 [&member](const core::Abort& abort) { member.hear_end(abort); }});
}

// The pause between tries to join again. When one host has told a rank that a try failed, the other
// hosts keep the rank's entries for a while, because a reason may still come. A rank that came back
// during that time would meet entries that are about to go, and would fail with them again and
// again.
constexpr auto kPauseOfOne = std::chrono::milliseconds(50);
constexpr auto kPauseOfMany = rank::HostLinks::kReasonMax + std::chrono::milliseconds(100);

// The new job uses no more drivers than exist.
rank::Rejoin rejoin_of(const JoinOptions& options, std::size_t drivers, const EndpointWrap& wrap) {
  if (!options.rejoin || options.sites == Sites::workers) return {};
  rank::Rejoin rejoin;
  const bool is_one = options.switches.size() == 1 && !options.switches.front().starts_with('@');
  rejoin.pause = is_one ? kPauseOfOne : kPauseOfMany;
  rejoin.attempt = [options, drivers, wrap](
                       const rank::CallHistory& history,
                       std::chrono::nanoseconds patience) -> Result<rank::Reentry> {
    JoinOptions again = options;
    again.deadline = again.connect_deadline = patience;
    again.drivers = static_cast<int>(drivers);
    rank::JobSession::Setup setup;
    const auto session = enter(again, &history, wrap, setup);
    if (!session) return tl::unexpected(session.error());
    return rank::Reentry{std::move(setup.worker), std::move(setup.shares), *session,
                         [weak = std::weak_ptr(*session)](rank::Member& member) {
                           if (const auto living = weak.lock()) watch(*living, member);
                         },
                         std::move(setup.tell)};
  };
  return rejoin;
}

}  // namespace

Result<std::shared_ptr<rank::Member>> join_through(const JoinOptions& options,
                                                   const EndpointWrap& wrap) {
  Result<JoinOptions> complete = complete_from_environment(options);
  if (!complete) return tl::unexpected(std::move(complete.error()));
  try {
    rank::JobSession::Setup setup;
    const auto session = enter(*complete, nullptr, wrap, setup);
    if (!session) return tl::unexpected(session.error());
    const auto member = rank::Member::make(
        rank::MemberOptions{std::move(setup.worker), complete->wire, complete->deadline, *session,
                            std::move(setup.site_names), setup.paths, complete->verify,
                            rejoin_of(*complete, setup.shares.size(), wrap), std::move(setup.tell)},
        std::move(setup.shares));
    watch(**session, *member);
    return member;
  } catch (const std::system_error& error) {
    return tl::unexpected(
        Error{Code::resource_exhausted, std::string("join: no thread: ") + error.what(), -1, ""});
  } catch (const std::bad_alloc&) {
    return tl::unexpected(
        Error{Code::resource_exhausted, "join: no memory for queues and slots", -1, ""});
  }
}

}  // namespace api

Result<Communicator> Communicator::join(const JoinOptions& options) {
  auto member = api::join_through(options, {});
  if (!member) return tl::unexpected(std::move(member.error()));
  return Communicator(std::move(*member));
}

}  // namespace infold
