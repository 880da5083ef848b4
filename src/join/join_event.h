// SPDX-License-Identifier: Apache-2.0
//
// Events of a join server, for a log: one event, one line.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

namespace infold::join {

struct JoinEvent {
  enum Kind : std::uint8_t {
    entered,  // a rank has come
    refused,  // a rank, or all ranks of a job, were refused
    joined,   // all ranks of a job have come
    started,  // all ranks are ready
    ended,    // a job ended before all its ranks had left
    left,     // all ranks of a job have left; its slots are free
    went,     // a rank left while others were missing; its place is free
    limited,  // a connection or a stream from `address` was turned away
  };
  Kind kind = entered;
  std::string job;           // the job's name; empty: unknown
  std::uint16_t number = 0;  // the job's number in packets; 0: none yet
  std::uint32_t world = 0;
  std::uint32_t slots = 0;  // of each site
  int rank = -1;            // the rank that the event is about; -1: all
  std::string address;      // address of the rank or connection, if there is one
  std::string reason;       // why there was a refusal or an end, as a sentence for people
};

// Makes an event that has only an address and a reason.
JoinEvent event_of_address(JoinEvent::Kind kind, std::string address, std::string reason);

// Called from the join server's threads, one call at a time for each of them. Must not block.
using EventListener = std::function<void(const JoinEvent&)>;

// Writes one line to the process's log (io/host/log.h).
void log_event(const JoinEvent& event);

}  // namespace infold::join
