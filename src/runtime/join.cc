// SPDX-License-Identifier: Apache-2.0
//
// Communicator::join: a session with the job's control planes, and a member on top.
#include "runtime/join.h"

#include <new>
#include <string>
#include <system_error>
#include <utility>

#include <infold/communicator.h>

#include "runtime/environment.h"
#include "runtime/job_session.h"

namespace infold {
namespace runtime {
namespace {

Result<std::shared_ptr<JobSession>> enter(const JoinOptions& options, const CallHistory& history,
                                          const PortWrap& wrap, JobSession::Seat& seat) {
  auto joined = JobSession::join(options, history, seat);
  if (!joined) return tl::unexpected(std::move(joined.error()));
  if (wrap) seat.port = wrap(std::move(seat.port));
  return std::shared_ptr<JobSession>(std::move(*joined));
}

// The session stops listening before the member goes.
void watch(JobSession& session, Member& member) {
  session.watch({[&member](std::uint32_t rank) { member.lose_rank(rank); },
                 [&member](std::uint8_t site, const std::string& lost_switch) {
                   member.lose_site(site, lost_switch);
                 },
                 [&member](const core::Abort& abort) { member.hear_end(abort); }});
}

Rejoin rejoin_of(const JoinOptions& options, const PortWrap& wrap) {
  if (!options.rejoin || options.sites == Sites::workers) return {};
  return [options, wrap](const CallHistory& history,
                         std::chrono::nanoseconds patience) -> Result<Reentry> {
    JoinOptions again = options;
    again.deadline = again.connect_deadline = patience;
    JobSession::Seat seat;
    const auto session = enter(again, history, wrap, seat);
    if (!session) return tl::unexpected(session.error());
    return Reentry{std::move(seat.worker), std::move(seat.port), *session,
                   [weak = std::weak_ptr(*session)](Member& member) {
                     if (const auto living = weak.lock()) watch(*living, member);
                   }};
  };
}

}  // namespace

Result<std::shared_ptr<Member>> join_through(const JoinOptions& options, const PortWrap& wrap) {
  Result<JoinOptions> complete = complete_from_environment(options);
  if (!complete) return tl::unexpected(std::move(complete.error()));
  try {
    JobSession::Seat seat;
    const auto session = enter(*complete, CallHistory{}, wrap, seat);
    if (!session) return tl::unexpected(session.error());
    const auto member = std::make_shared<Member>(
        MemberOptions{std::move(seat.worker), complete->wire, complete->deadline, *session,
                      std::move(seat.site_names), seat.paths, complete->verify,
                      rejoin_of(*complete, wrap)},
        std::move(seat.port));
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

}  // namespace runtime

Result<Communicator> Communicator::join(const JoinOptions& options) {
  auto member = runtime::join_through(options, {});
  if (!member) return tl::unexpected(std::move(member.error()));
  return Communicator(std::move(*member));
}

}  // namespace infold
