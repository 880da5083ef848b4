// SPDX-License-Identifier: Apache-2.0
//
// The end of a session's job: received over connections, told to the member, and logged.
#include <algorithm>

#include "io/host/log.h"
#include "rank/session/job_session.h"

namespace infold::rank {

// Keeps the reason for the other ranks. They do not need it if this rank leaves in good order, or
// if a switch was lost, because they then look for the switch again.
void JobSession::note_end(const core::Abort& abort) {
  using core::AbortReason;
  if (abort.reason != AbortReason::left && abort.reason != AbortReason::stopped) end_ = abort;
}

void JobSession::note_site_lost(std::uint8_t site) {
  const std::vector<std::uint8_t>& firsts = table_.first_sites;
  const auto next = std::upper_bound(firsts.begin(), firsts.end(), site);
  const auto host = std::max<std::ptrdiff_t>(next - firsts.begin(), 1) - 1;
  log_switch_lost(hosts_[static_cast<std::size_t>(host)].name);
}

void JobSession::watch(const Listener& listener) {
  links_->watch([this, listener](std::size_t host, const join::JobEnd& end) {
    log_end(end, hosts_[host].name);
    if (end.abort) {
      listener.on_end(*end.abort);
    } else if (end.lost_rank) {
      listener.on_rank_lost(*end.lost_rank);
    } else {
      // Next to an emulator, the first site may be this rank's own. In that case it is the emulator
      // that is lost.
      const bool is_own = options_.sites == Sites::mixed && table_.own == table_.first_sites[host];
      const std::string& own_host = hosts_[host].name;
      listener.on_site_lost(table_.first_sites[host],
                            is_own && end.lost_switch.empty() ? own_host : end.lost_switch);
    }
  });
}

// Logs the end that the job's connections report. The errors of calls contain other reasons.
void JobSession::log_end(const join::JobEnd& end, const std::string& host) {
  using status::LogLevel;
  const std::string& job = options_.job;
  const int rank = options_.rank;
  if (end.abort) {
    io::log(LogLevel::info, "job_ended",
            {{"job", job}, {"rank", rank}, {"by_rank", end.abort->rank}});
  } else if (end.lost_rank) {
    io::log(LogLevel::warn, "rank_lost", {{"job", job}, {"rank", rank}, {"lost", *end.lost_rank}});
  } else {
    log_switch_lost(end.lost_switch.empty() ? host : end.lost_switch);
  }
}

// Logs only once, although packets and several connections may report the loss.
void JobSession::log_switch_lost(const std::string& address) {
  if (loss_is_logged_.exchange(true)) return;
  io::log(status::LogLevel::warn, "switch_lost",
          {{"job", options_.job},
           {"rank", options_.rank},
           {"switch", address},
           {"rejoins", options_.rejoin}});
}

}  // namespace infold::rank
