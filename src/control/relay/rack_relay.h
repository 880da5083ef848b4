// SPDX-License-Identifier: Apache-2.0
//
// The registrar of a rack's switch. It decides nothing. It passes each rank's messages to the
// registry of the parent, over a link for each rank, and passes the answers back. So one registry
// knows all ranks of a job, and a rank that is lost anywhere ends the job everywhere. On the way
// the relay puts in this switch's slots, limits and sites, in place of the parent's.
//
// If this switch cannot take a job, the relay says so with ready(), and all ranks of the job hear
// of it.
//
// Three threads, however many ranks there are. One tells links and listeners. One starts and ends
// jobs at the plane, which may take long. One probes whether the parent's sites can be reached,
// which takes seconds where they cannot.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "control/agenda.h"
#include "control/control_event.h"
#include "control/rank_listener.h"
#include "control/registrar.h"
#include "control/registry/plane.h"
#include "control/relay/relay_ear.h"
#include "control/relay/uplink.h"

namespace infold::control {

struct RackRelayOptions {
  std::string parent;             // its control address
  std::string address;            // where ranks join here, for errors
  std::string identity;           // of this switch's process
  io::SocketAddress source = {};  // of packets to the parent; unset: as the connection
  EventListener on_event = log_event;
  bool has_threads = true;  // false: a test calls work()
  // A rank's link to the parent, for tests; unset: a JobStream.
  std::function<std::unique_ptr<RankLink>(const Hello&, std::shared_ptr<RankListener>)> link = {};
};

class RackRelay final : public Registrar {
 public:
  // `plane` and `uplink` outlive it. Throws std::system_error without a thread.
  RackRelay(Plane& plane, Uplink& uplink, RackRelayOptions options);
  ~RackRelay() override;

  Entry enter(const Hello& hello, std::shared_ptr<RankListener> listener) override;
  void ready(Entry entry, const ReadyReport& report) override;
  void leave(Entry entry, const Parting& parting) override;
  void stop() override;
  std::vector<JobStatus> status() const override;

  // Without threads: makes all calls that are due.
  void work();

 private:
  struct Job;
  struct Rank;
  struct Promise;
  using Ear = RelayEar<RackRelay>;
  using Inbox = RelayInbox<RackRelay>;
  friend Ear;
  using Key = std::pair<std::uint16_t, std::uint32_t>;  // the parent's number and epoch

  // All below require the lock, but for those that say that they are tasks.
  Answer<Hello> hello_for_parent(const Hello& hello, std::uint32_t path_bytes);
  void open_link(std::uint64_t entry, const Hello& hello);  // a task
  void keep_promise(Rank& rank);
  std::shared_ptr<Job> find_or_make(const Hello& hello, const JobTerms& terms);
  JobTerms own_terms(const JobTerms& terms, std::uint32_t rank) const;
  void take_slots(Job& job);
  void give_back_slots(Job& job);
  void look_up(const std::shared_ptr<Job>& job);  // a task
  void tell_link(std::uint64_t entry, std::function<void(RankLink&)> message);
  void say_ready(std::uint64_t entry, const Rank& rank);
  void begin(const std::shared_ptr<Job>& job);
  void start_at_plane(const std::shared_ptr<Job>& job);  // a task
  bool make_room(Job& job);
  void go(Rank& rank);
  void refuse(std::uint64_t entry, const Refusal& refusal);
  void let_go(std::uint64_t entry);
  void drop_if_empty(const std::shared_ptr<Job>& job);
  void give_back(const std::shared_ptr<Job>& job);
  void end_at_plane(const std::shared_ptr<Job>& job, const JobEnd& end);
  void tell_plane_end(const std::shared_ptr<Job>& job);
  void cut(Rank& rank);

  // From the parent.
  void hear_terms(std::uint64_t entry, const JobTerms& terms);
  void hear_go(std::uint64_t entry, const std::vector<HostGroup>& groups);
  void hear_refusal(std::uint64_t entry, const Refusal& refusal);
  void hear_end(std::uint64_t entry, const JobEnd& end);
  void hear_dismissal(std::uint64_t entry);

  Plane& plane_;
  Uplink& uplink_;
  const RackRelayOptions options_;
  const std::shared_ptr<Inbox> inbox_ = std::make_shared<Inbox>();
  std::mutex& mutex_ = inbox_->mutex;
  std::map<std::string, Promise> promises_;
  std::map<Key, std::shared_ptr<Job>> jobs_;
  std::map<std::uint64_t, Rank> ranks_;
  std::uint64_t last_entry_ = 0;
  std::uint32_t slots_used_ = 0;
  std::uint32_t slots_promised_ = 0;
  bool stopping_ = false;
  Agenda agenda_;       // calls of links and listeners
  Agenda plane_calls_;  // calls of the plane
  Agenda look_ups_;
};

}  // namespace infold::control
