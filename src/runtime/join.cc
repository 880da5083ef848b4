// SPDX-License-Identifier: Apache-2.0
//
// Communicator::join: a session with the job's control planes, and a member on top.
#include <new>
#include <string>
#include <system_error>
#include <utility>

#include <infold/communicator.h>

#include "runtime/environment.h"
#include "runtime/job_session.h"
#include "runtime/member.h"

namespace infold {

Result<Communicator> Communicator::join(const JoinOptions& options) {
  Result<JoinOptions> complete = runtime::complete_from_environment(options);
  if (!complete) return tl::unexpected(std::move(complete.error()));
  try {
    runtime::JobSession::Seat seat;
    auto joined = runtime::JobSession::join(*complete, seat);
    if (!joined) return tl::unexpected(std::move(joined.error()));
    const std::shared_ptr<runtime::JobSession> session = std::move(*joined);
    const auto member = std::make_shared<runtime::Member>(
        runtime::MemberOptions{std::move(seat.worker), complete->wire, complete->deadline, session,
                               std::move(seat.site_names)},
        std::move(seat.port));
    // The session stops listening before the member goes.
    runtime::Member* const listening = member.get();
    session->watch({[listening](std::uint32_t rank) { listening->lose_rank(rank); },
                    [listening](std::uint8_t site) { listening->lose_site(site); }});
    return Communicator(member);
  } catch (const std::system_error& error) {
    return tl::unexpected(
        Error{Code::resource_exhausted, std::string("join: no thread: ") + error.what(), -1, ""});
  } catch (const std::bad_alloc&) {
    return tl::unexpected(
        Error{Code::resource_exhausted, "join: no memory for queues and slots", -1, ""});
  }
}

}  // namespace infold
