// SPDX-License-Identifier: Apache-2.0
//
// The real worker in the virtual network, with the program that calls it and the host it runs on.
// The program makes calls at given times. The host has a send queue with a limit, and pauses in
// which it does not read packets.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <vector>

#include "core/team/worker_team.h"
#include "study/sim/network/link.h"
#include "study/sim/network/network.h"
#include "study/sim/nodes/last_read.h"

namespace infold::sim {

struct Call {
  base::Instant at;               // time of submission, or later if there is no room
  core::TransferRequest request;  // `after` is set from after_previous
  bool after_previous = false;
  bool sized_by_previous = false;
  // Returns the size of a call that the previous call sizes; empty: its elements.
  std::function<std::uint64_t()> size;
  // Runs when the call has succeeded at this rank, before the next call gets its size. May be
  // empty.
  std::function<void()> done;
  base::Duration deadline;  // from submission; 0: none
};

struct CallRecord {
  base::Instant submitted_at;
  base::Instant finished_at = base::Instant::never();
  core::TransferId id = core::TransferId::none;
  std::optional<core::Event> event;
  std::uint32_t event_count = 0;
  std::optional<base::Error> refused;  // submit() refused the call, because the job had ended
};

struct Pause {
  base::Instant from;
  base::Instant until;
};

// The program's cancel or leave.
struct Ending {
  enum class Kind : std::uint8_t { none, cancel, leave };
  Kind kind = Kind::none;
  base::Instant at;
};

struct WorkerNodeOptions {
  core::WorkerOptions worker;
  std::vector<core::SiteSet> shares = {~core::SiteSet{0}};  // one worker for each
  std::deque<Call> calls;
  std::vector<Pause> pauses;  // in order of time
  Ending ending;
  bool leave_when_done = false;
  std::int64_t host_queue_bytes = 0;
  std::uint32_t receive_queue_packets = 0;
  LastRead* last_read = nullptr;  // shared by all workers; null: each parses for itself
};

class WorkerNode final : public Node {
 public:
  explicit WorkerNode(WorkerNodeOptions options);

  // Takes one path per site. The paths begin with `uplink`, which may be null.
  void connect(std::vector<PathId> to_sites, const Link* uplink, const Network* network);

  // Adds a call that was not known before. It comes after all others, and its time is not before
  // theirs. The network must then wake() the node.
  void add_call(Call call);
  // Sets the size of an added call that is sized later, by the number of its transfer. Call this
  // once, before or after the call is made. The network must then wake() the node.
  void set_size(core::TransferId id, std::uint64_t elements);
  // Forgets the finished calls at the beginning, so that records do not grow forever.
  void forget_finished();

  void handle_packet(base::Instant now, Parcel parcel, Outlet& outlet) override;
  void handle_timeout(base::Instant now, Outlet& outlet) override;
  base::Instant next_timeout() const override;

  // Returns true when every call has ended, with or without success.
  bool finished() const { return finished_calls_ == records_.size() && ending_done_; }
  const std::deque<CallRecord>& records() const { return records_; }
  const core::WorkerTeam& worker() const { return worker_; }
  std::uint32_t in_flight_high_water() const { return in_flight_high_water_; }

 private:
  base::Instant paused_until(base::Instant now) const;
  void take(base::Instant now, Parcel parcel, Outlet& outlet);
  bool act(base::Instant now);
  bool submit_next(base::Instant now);
  void set_size_if_known(std::size_t call);
  void transmit(base::Instant now, Outlet& outlet);
  bool collect_events(base::Instant now);
  void drain(base::Instant now, Outlet& outlet);
  void note_timeout() { timeout_at_ = worker_.poll_timeout().value_or(base::Instant::never()); }

  WorkerNodeOptions options_;
  core::WorkerTeam worker_;
  std::vector<PathId> to_sites_;
  const Link* uplink_ = nullptr;
  const Network* network_ = nullptr;
  std::deque<CallRecord> records_;
  std::map<core::TransferId, std::uint64_t> sizes_;  // for calls that have not been made yet
  std::size_t next_call_ = 0;
  std::size_t finished_calls_ = 0;
  bool call_waits_for_room_ = false;
  bool ending_done_ = true;
  bool left_ = false;
  // The worker's timeout since its last input. It is cached because the worker looks at each flow
  // of each site to find it.
  base::Instant timeout_at_ = base::Instant::never();
  base::Instant send_again_at_ = base::Instant::never();
  base::Instant drained_at_;
  std::uint32_t in_flight_high_water_ = 0;
  base::Instant paused_until_;  // while packets wait for the end of a pause
  std::deque<Parcel> received_while_paused_;
};

}  // namespace infold::sim
