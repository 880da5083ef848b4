// SPDX-License-Identifier: Apache-2.0
#include "join/join_event.h"

#include "io/host/log.h"

namespace infold::join {

JoinEvent event_of_address(JoinEvent::Kind kind, std::string address, std::string reason) {
  JoinEvent event;
  event.kind = kind;
  event.address = std::move(address);
  event.reason = std::move(reason);
  return event;
}

void log_event(const JoinEvent& event) {
  using status::LogLevel;
  switch (event.kind) {
    case JoinEvent::refused:
      io::log(LogLevel::warn, "join_refused",
              {{"job", event.job},
               {"rank", event.rank},
               {"address", event.address},
               {"reason", event.reason}});
      return;
    case JoinEvent::joined:
      io::log(LogLevel::info, "job_joined",
              {{"job", event.job}, {"number", event.number}, {"world", event.world}});
      return;
    case JoinEvent::started:
      io::log(LogLevel::info, "job_started",
              {{"job", event.job},
               {"number", event.number},
               {"world", event.world},
               {"slots", event.slots}});
      return;
    case JoinEvent::ended:
      io::log(LogLevel::info, "job_ended",
              {{"job", event.job},
               {"number", event.number},
               {"rank", event.rank},
               {"reason", event.reason}});
      return;
    case JoinEvent::left:
      io::log(LogLevel::info, "job_left", {{"job", event.job}, {"number", event.number}});
      return;
    case JoinEvent::went:
      io::log(LogLevel::info, "rank_left",
              {{"job", event.job},
               {"rank", event.rank},
               {"address", event.address},
               {"reason", event.reason}});
      return;
    case JoinEvent::entered:
      io::log(LogLevel::info, "rank_joined",
              {{"job", event.job},
               {"rank", event.rank},
               {"world", event.world},
               {"address", event.address}});
      return;
    case JoinEvent::limited:
      io::log(LogLevel::warn, "limit_reached",
              {{"address", event.address}, {"reason", event.reason}});
      return;
  }
}

}  // namespace infold::join
