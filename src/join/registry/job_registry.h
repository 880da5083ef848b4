// SPDX-License-Identifier: Apache-2.0
//
// The jobs of a join server, their ranks and their terms: a state machine under a lock.
//
//   gathering --all here--> joined --all ready--> starting --plane--> running --all left--> gone
//       \_______________________\______________________\                 \__lost, abort__> over
//                    all refused, the job is gone                          (until all left)
//
// If a rank leaves while its job is gathering, its place is free again. If it leaves later, the job
// is refused to all other ranks at once, or is over for them. Each rank has its own deadline.
//
// The registry proposes host groups when all ranks have come, and settles them when all are ready.
// A job that is then all on one host or all in one rack does not use the plane.
//
// The registry never calls other parties under its lock. Two agendas call the plane and the
// listeners, each in the order of the registry's decisions. A plane may take long to start a job,
// because it gets memory and asks the kernel. Only the plane's other jobs wait for that.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/instant.h"
#include "base/mutex.h"
#include "join/agenda.h"
#include "join/join_event.h"
#include "join/registrar.h"
#include "join/registry/plane.h"
#include "join/token_use.h"

namespace infold::join {

struct RegistryLimits {
  // The longest time for which a rank may wait for the others, so that a stranger cannot keep a
  // job's name for longer. A launcher that needs more time joins again.
  base::Duration patience_max = base::seconds(3600);
  // The longest time from all ranks here to all ranks ready. Ranks probe up to 64 sites for a
  // second each, and wait for other switches. Slots are held meanwhile.
  base::Duration ready_max = base::seconds(300);
  // A rank that aggregates stays for the others at most this long, which is enough for many
  // retransmissions.
  base::Duration linger_max = base::seconds(2);
  // Ranks hear that the job has ended as soon as the plane has said which end it keeps, and at the
  // latest after this time, because the plane may be starting another job.
  base::Duration telling_max = base::milliseconds(100);
  // A rank that has heard of the end and has not left after this time is dismissed.
  base::Duration over_max = base::seconds(60);
  // A program may have a job for each of its dozen groups, and a job takes some kilobytes here.
  std::uint32_t jobs_max = 1024;
  // The most jobs that ranks at one address have begun. A job counts for the address of the rank
  // that came first, whichever rank that is: otherwise one address could keep all jobs by sending
  // every rank but rank 0.
  std::uint32_t jobs_of_address_max = 768;
  // A job keeps a place for each of its ranks from the first hello on. The limit is enough for
  // jobs_max jobs of 256 ranks each, and one hello for a larger world cannot exceed it.
  std::uint32_t places_max = 1024 * 256;
  std::uint32_t places_of_address_max = 768 * 256;
};

struct RegistryOptions {
  std::function<base::Instant()> clock;    // unset: io::monotonic_now
  std::function<std::uint64_t()> entropy;  // makes epochs; unset: the system's
  EventListener on_event;                  // unset: writes to the process's log
  RegistryLimits limits = {};
  bool has_threads = true;  // false: a test calls work()
};

class JobRegistry final : public Registrar {
 public:
  // `plane` may be null, and must outlive the registry. Throws std::system_error if no thread can
  // be started.
  explicit JobRegistry(Plane* plane, RegistryOptions options = {});
  ~JobRegistry() override;

  Entry enter(const Hello& hello, std::shared_ptr<RankListener> listener) override;
  void ready(Entry entry, const ReadyReport& report) override;
  void leave(Entry entry, const Parting& parting) override;
  bool note_call(Entry entry, const CallNote& note) override;
  void stop() override;
  std::vector<JobMetrics> status() const override;

  std::uint32_t slots_free() const;

  // For use without threads: handles deadlines that have passed, then makes all calls that are due.
  void work();
  base::Instant next_deadline() const;  // the next deadline of any rank; never: no rank waits

 private:
  struct Place;
  struct Job;
  // What the jobs that an address began have, from their first hello on.
  struct OfAddress {
    std::uint32_t jobs = 0;
    std::uint32_t places = 0;
  };
  // What the jobs with rank 0 at an address have at the plane. All ranks are here by then, and rank
  // 0 is at the same address in every run, while any rank may come first.
  struct AtAddress {
    std::uint32_t jobs = 0;
    std::uint32_t slots = 0;
  };
  struct FreeSlots {
    std::uint32_t free = 0;
    std::uint32_t total = 0;
  };
  using Jobs = std::multimap<std::string, std::shared_ptr<Job>, std::less<>>;

  // Tasks of an agenda and make_calls() run without the lock.
  std::optional<Refusal> find_obstacle(const Hello& hello, const Job* job) const REQUIRES(mutex_);
  std::optional<Refusal> find_lack_of_room(const Hello& hello) const REQUIRES(mutex_);
  Refusal stopping() const REQUIRES(mutex_);
  std::shared_ptr<Job> find(const std::string& name) const REQUIRES(mutex_);
  Answer<void> assemble(Job& job) REQUIRES(mutex_);
  Answer<void> fit_chunks(Job& job) REQUIRES(mutex_);
  static bool may_sum_native(const Job& job);
  Answer<void> share_slots(Job& job) REQUIRES(mutex_);
  FreeSlots slots_for(const Job& job) const REQUIRES(mutex_);
  Refusal no_slots_of_token(const Job& job) const REQUIRES(mutex_);
  static bool has_limited_address(const Job& job);
  bool needs_plane(const Job& job) const REQUIRES(mutex_);
  Answer<void> take_slots(Job& job) REQUIRES(mutex_);
  std::optional<std::uint16_t> take_number() REQUIRES(mutex_);
  void settle(const std::shared_ptr<Job>& job) REQUIRES(mutex_);
  void start_at_plane(const std::shared_ptr<Job>& job);  // a task of an agenda
  void run(Job& job) REQUIRES(mutex_);
  void refuse_all(const std::shared_ptr<Job>& job, const Refusal& refusal) REQUIRES(mutex_);
  void end(const std::shared_ptr<Job>& job, const JobEnd& why) REQUIRES(mutex_);
  void end_at_plane(const std::shared_ptr<Job>& job);  // a task of an agenda
  void tell_end(Job& job, const JobEnd& why) REQUIRES(mutex_);
  void leave_running(const std::shared_ptr<Job>& job, std::uint32_t rank, const Parting& parting)
      REQUIRES(mutex_);
  void let_go(const std::shared_ptr<Job>& job, std::uint32_t rank) REQUIRES(mutex_);
  bool is_needed(const Job& job, std::uint32_t rank) const REQUIRES(mutex_);
  void release_lingerers(const std::shared_ptr<Job>& job) REQUIRES(mutex_);
  void drop_if_empty(const std::shared_ptr<Job>& job) REQUIRES(mutex_);
  void drop(const std::shared_ptr<Job>& job) REQUIRES(mutex_);
  void give_back(const std::shared_ptr<Job>& job) REQUIRES(mutex_);
  void make_calls();
  void pass_deadlines() REQUIRES(mutex_);
  void pass_deadline(const std::shared_ptr<Job>& job, std::uint32_t rank) REQUIRES(mutex_);
  void set_deadline(Place& place, base::Instant deadline) REQUIRES(mutex_);
  void tell(const Place& place, std::function<void(RankListener&)> message) REQUIRES(mutex_);
  void report(JoinEvent event) REQUIRES(mutex_);
  void report(JoinEvent::Kind kind, const Job& job, int rank, std::string reason) REQUIRES(mutex_);

  Plane* plane_;
  const RegistryOptions options_;
  mutable base::Mutex mutex_;
  Jobs jobs_ GUARDED_BY(mutex_);  // several may have one name, but only one of them is not over
  std::unordered_map<std::uint64_t, std::pair<std::shared_ptr<Job>, std::uint32_t>> entries_
      GUARDED_BY(mutex_);
  std::set<std::pair<base::Instant, std::uint64_t>> deadlines_ GUARDED_BY(mutex_);
  std::uint64_t last_entry_ GUARDED_BY(mutex_) = 0;
  std::vector<bool> numbers_used_ GUARDED_BY(mutex_);
  std::uint16_t next_number_ GUARDED_BY(mutex_) = 1;
  std::uint32_t slots_used_ GUARDED_BY(mutex_) = 0;
  std::uint32_t places_ GUARDED_BY(mutex_) = 0;
  TokenUse token_use_ GUARDED_BY(mutex_);
  // The key is the address of a job's first rank to come.
  std::map<std::string, OfAddress, std::less<>> of_address_ GUARDED_BY(mutex_);
  // The key is the address of rank 0.
  std::map<std::string, AtAddress, std::less<>> at_plane_of_address_ GUARDED_BY(mutex_);
  bool stopping_ GUARDED_BY(mutex_) = false;
  Agenda agenda_;       // calls of listeners
  Agenda plane_calls_;  // calls of the plane
};

}  // namespace infold::join
