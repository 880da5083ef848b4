// SPDX-License-Identifier: Apache-2.0
#include "control/control_event.h"

#include "io/host/log.h"

namespace infold::control {

ControlEvent event_of_peer(ControlEvent::Kind kind, std::string peer, std::string reason) {
  ControlEvent event;
  event.kind = kind;
  event.peer = std::move(peer);
  event.reason = std::move(reason);
  return event;
}

void log_event(const ControlEvent& event) {
  using status::LogLevel;
  switch (event.kind) {
    case ControlEvent::refused:
      io::log(LogLevel::warn, "join_refused",
              {{"job", event.job},
               {"rank", event.rank},
               {"address", event.peer},
               {"reason", event.reason}});
      return;
    case ControlEvent::joined:
      io::log(LogLevel::info, "job_joined",
              {{"job", event.job}, {"number", event.number}, {"world", event.world}});
      return;
    case ControlEvent::started:
      io::log(LogLevel::info, "job_started",
              {{"job", event.job},
               {"number", event.number},
               {"world", event.world},
               {"slots", event.slots}});
      return;
    case ControlEvent::ended:
      io::log(LogLevel::info, "job_ended",
              {{"job", event.job},
               {"number", event.number},
               {"rank", event.rank},
               {"reason", event.reason}});
      return;
    case ControlEvent::left:
      io::log(LogLevel::info, "job_left", {{"job", event.job}, {"number", event.number}});
      return;
    case ControlEvent::went:
      io::log(LogLevel::info, "rank_left",
              {{"job", event.job},
               {"rank", event.rank},
               {"address", event.peer},
               {"reason", event.reason}});
      return;
    case ControlEvent::entered:
      io::log(LogLevel::info, "rank_joined",
              {{"job", event.job},
               {"rank", event.rank},
               {"world", event.world},
               {"address", event.peer}});
      return;
    case ControlEvent::limited:
      io::log(LogLevel::warn, "limit_reached", {{"peer", event.peer}, {"reason", event.reason}});
      return;
  }
}

}  // namespace infold::control
