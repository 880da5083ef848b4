// SPDX-License-Identifier: Apache-2.0
//
// The registrar of a rack's switch. It makes no decisions: it passes each rank's messages to the
// parent's registry, over one link for each rank, and passes the answers back. One registry
// therefore knows all ranks of a job, and a rank that is lost anywhere ends the job everywhere. On
// the way, the relay limits hellos to what this switch can do, and replaces the parent's sites in
// the terms with its own.
//
// If this switch cannot take a job, the relay says so in the ready reports, and all ranks of the
// job hear of it.
//
// A relay has three threads, however many ranks there are. One calls links and listeners. One
// starts and ends jobs at the plane, which may take long. One probes whether the parent's sites can
// be reached, which takes seconds if they cannot.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/mutex.h"
#include "join/agenda.h"
#include "join/job_terms.h"
#include "join/join_event.h"
#include "join/rank_listener.h"
#include "join/registrar.h"
#include "join/registry/plane.h"
#include "join/relay/relay_ear.h"
#include "join/relay/uplink.h"
#include "join/token_use.h"
#include "keys/certificate.h"

namespace infold::join {

struct RackRelayOptions {
  io::SocketAddress parent;       // the parent's join address
  std::string address;            // where ranks join here, for errors
  std::string identity;           // identifies this switch's process
  io::SocketAddress source = {};  // where packets to the parent come from; unset: as the connection
  std::string token;              // lets this switch speak for its ranks; empty: it needs none
  EventListener on_event = log_event;
  bool has_threads = true;  // false: a test calls work()
  // Makes a rank's link to the parent, for tests. Unset: makes a JobStream.
  std::function<std::unique_ptr<RankLink>(const Hello&, std::shared_ptr<RankListener>)> link = {};
  std::optional<keys::Fingerprint> parent_fingerprint = {};  // set: it is joined with TLS
};

class RackRelay final : public Registrar {
 public:
  // `plane` and `uplink` must outlive the relay. Throws std::system_error if no thread can be
  // started.
  RackRelay(Plane& plane, Uplink& uplink, RackRelayOptions options);
  ~RackRelay() override;

  Entry enter(const Hello& hello, std::shared_ptr<RankListener> listener) override;
  void ready(Entry entry, const ReadyReport& report) override;
  void leave(Entry entry, const Parting& parting) override;
  void stop() override;
  std::vector<JobMetrics> status() const override;

  // For use without threads: makes all calls that are due.
  void work();

 private:
  struct Job;
  struct Rank;
  struct Promise;
  using Ear = RelayEar<RackRelay>;
  using Inbox = RelayInbox<RackRelay>;
  friend Ear;
  using Key = std::pair<std::uint16_t, std::uint32_t>;  // the parent's number and epoch
  // The name of a job and its number of ranks, which are known before the parent's terms.
  using Name = std::pair<std::string, std::uint32_t>;

  // Tasks of an agenda run without the lock.
  Answer<Hello> hello_for_parent(const Hello& hello, std::uint32_t path_bytes) REQUIRES(mutex_);
  std::optional<Refusal> enter_token(Rank& rank) REQUIRES(mutex_);
  void leave_token(Rank& rank) REQUIRES(mutex_);
  std::optional<Refusal> limit_to_tokens(const Hello& hello, Slots& slots) const REQUIRES(mutex_);
  bool count_token_slots(const Job& job) REQUIRES(mutex_);
  void open_link(std::uint64_t entry, const Hello& hello);  // a task
  void keep_promise(Rank& rank) REQUIRES(mutex_);
  std::shared_ptr<Job> find_or_make(const Hello& hello, const JobTerms& terms) REQUIRES(mutex_);
  JobTerms own_terms(const JobTerms& terms, std::uint32_t rank) const REQUIRES(mutex_);
  void take_slots(Job& job) REQUIRES(mutex_);
  void give_back_slots(Job& job) REQUIRES(mutex_);
  void look_up(const std::shared_ptr<Job>& job);  // a task
  void tell_link(std::uint64_t entry, std::function<void(RankLink&)> message) REQUIRES(mutex_);
  void say_ready(std::uint64_t entry, const Rank& rank) REQUIRES(mutex_);
  void begin(const std::shared_ptr<Job>& job) REQUIRES(mutex_);
  void start_at_plane(const std::shared_ptr<Job>& job);  // a task
  bool make_room(Job& job) REQUIRES(mutex_);
  void go(Rank& rank) REQUIRES(mutex_);
  void refuse(std::uint64_t entry, const Refusal& refusal) REQUIRES(mutex_);
  void let_go(std::uint64_t entry) REQUIRES(mutex_);
  void drop_if_empty(const std::shared_ptr<Job>& job) REQUIRES(mutex_);
  void give_back(const std::shared_ptr<Job>& job) REQUIRES(mutex_);
  void end_at_plane(const std::shared_ptr<Job>& job, const JobEnd& end) REQUIRES(mutex_);
  void tell_plane_end(const std::shared_ptr<Job>& job) REQUIRES(mutex_);
  void cut(Rank& rank) REQUIRES(mutex_);

  // These handle the parent's answers.
  void hear_terms(std::uint64_t entry, const JobTerms& terms) REQUIRES(mutex_);
  void hear_go(std::uint64_t entry, const std::vector<HostGroup>& groups) REQUIRES(mutex_);
  void hear_refusal(std::uint64_t entry, const Refusal& refusal) REQUIRES(mutex_);
  void hear_end(std::uint64_t entry, const JobEnd& end) REQUIRES(mutex_);
  void hear_dismissal(std::uint64_t entry) REQUIRES(mutex_);

  Plane& plane_;
  Uplink& uplink_;
  const RackRelayOptions options_;
  const std::shared_ptr<Inbox> inbox_ = std::make_shared<Inbox>();
  base::Mutex& mutex_ = inbox_->mutex;
  std::map<std::string, Promise> promises_ GUARDED_BY(mutex_);
  TokenUse token_use_ GUARDED_BY(mutex_);  // of the rack's ranks
  std::map<Name, TokenUse::OfJob> tokens_ GUARDED_BY(mutex_);
  std::map<Key, std::shared_ptr<Job>> jobs_ GUARDED_BY(mutex_);
  std::map<std::uint64_t, Rank> ranks_ GUARDED_BY(mutex_);
  std::uint64_t last_entry_ GUARDED_BY(mutex_) = 0;
  std::uint32_t slots_used_ GUARDED_BY(mutex_) = 0;
  std::uint32_t slots_promised_ GUARDED_BY(mutex_) = 0;
  bool stopping_ GUARDED_BY(mutex_) = false;
  Agenda agenda_;       // calls of links and listeners
  Agenda plane_calls_;  // calls of the plane
  Agenda look_ups_;
};

}  // namespace infold::join
