// SPDX-License-Identifier: Apache-2.0
//
// One emulated job: the simulator's network of workers, switches and links, in step with the wall
// clock. Portals stand for the real ranks and their sites, and for the sites of a real switch.
// Emulated ranks make the transfers that rank 0 announces. Used by one thread.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <vector>

#include "base/instant.h"
#include "base/result.h"
#include "join/registrar.h"
#include "study/emulate/contribution.h"
#include "study/emulate/lateness.h"
#include "study/emulate/options.h"
#include "study/sim/nodes/wiring.h"

namespace infold::emulate {

struct JobCounters {
  std::uint64_t transfers = 0;         // transfers that emulated ranks make
  std::uint64_t packets_in = 0;        // from real ranks, and from a real switch
  std::uint64_t packets_out = 0;       // to the same parties
  std::uint64_t packets_refused = 0;   // from the same parties, but too long or too many in flight
  std::uint64_t packets_emulated = 0;  // sent by emulated ranks and switches

  JobCounters& operator+=(const JobCounters& other);
};

// The way of a packet: from a rank to a site, or from the site to the rank.
struct Way {
  std::uint16_t rank = 0;
  std::uint8_t site = 0;
  bool is_down = false;  // to the rank

  friend auto operator<=>(const Way&, const Way&) = default;
};

class EmulatedJob {
 public:
  // Receives each packet that leaves for a real rank or for a real site.
  using Deliver = std::function<void(Way way, std::span<const std::byte> datagram)>;

  // The job begins at `now`.
  EmulatedJob(const EmulationOptions& options, const join::JobTerms& terms, base::Instant now,
              Deliver deliver);

  const sim::Scenario& scenario() const { return scenario_; }
  // Takes a packet from a real rank or from a real site. Time never goes back. Requires: run(now)
  // was called.
  void take(base::Instant now, Way way, std::span<const std::byte> datagram);
  // An error means that emulated ranks cannot make the transfer, so the job has to end. Rank 0 may
  // be any program, so every note is checked.
  base::Result<void> note(base::Instant now, const join::CallNote& note);
  void end(base::Instant now, const core::Abort& abort);

  // Moves all packets that are due.
  void run(base::Instant now);
  base::Instant next_event() const;

  const Lateness& lateness() const { return lateness_; }
  JobCounters counters() const;

 private:
  class Portal;
  struct Rank {
    sim::WorkerNode* node = nullptr;
    sim::NodeId id = 0;
    std::uint16_t rank = 0;
    base::Instant last_call_at;
  };

  // The data that rank 0 sent in its last broadcast.
  struct Said {
    core::TransferRequest request;  // with the codec for its bytes
    core::TransferId id = core::TransferId::none;
    std::shared_ptr<std::vector<std::byte>> bytes;
  };

  sim::Portals portals();
  base::Instant inside(base::Instant wall) const { return base::Instant{} + (wall - begun_); }
  const char* find_obstacle(const join::TransferNote& note) const;
  base::Result<void> note_size(const join::SizeNote& note);
  core::TransferRequest request_of(const join::TransferNote& note) const;
  void listen_to(const core::TransferRequest& request);
  bool repeats(const core::TransferRequest& request) const;
  void add_call(base::Instant now, Rank& rank, const core::TransferRequest& request,
                const core::TensorCodec* generated);
  void deliver(base::Instant now, const sim::Parcel& parcel);

  const EmulationOptions options_;
  const Deliver deliver_;
  const base::Instant begun_;
  const sim::Scenario scenario_;
  const sim::Job no_calls_;
  const core::WorkerOptions as_worker_;  // the options of an emulated rank
  sim::Wiring wiring_;
  std::vector<Rank> emulated_;
  std::map<sim::NodeId, std::uint16_t> ranks_of_nodes_;
  bool is_over_ = false;
  std::optional<Said> said_;
  std::set<std::uint64_t> unsized_;  // transfers whose size is not known yet
  Lateness lateness_;
  JobCounters counters_;
};

}  // namespace infold::emulate
