// SPDX-License-Identifier: Apache-2.0
//
// The jobs of a join server, their ranks and their terms: a state machine under a lock.
//
//   gathering --all here--> joined --all ready--> starting --plane--> running --all left--> gone
//       \_______________________\______________________\                 \__lost, abort__> over
//                    all refused, the job is gone                          (until all left)
//
// If a rank goes while its job gathers, its place is free again. Later the job is refused to all
// other ranks at once, or is over for them. Each rank's deadline is its own.
//
// Host groups are proposed when all ranks have come, and settled when all are ready. A job on one
// host then takes nothing of the plane, and neither does a job that is all in one rack.
//
// No other party is called under the lock. Two agendas call the plane and the listeners, each in
// the order in which the registry decided. A plane may take long to start a job: it gets memory and
// asks the kernel. Only the plane's other jobs wait for that.
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

namespace infold::join {

struct RegistryLimits {
  // A stranger keeps a job's name no longer than this. A launcher that needs longer starts again.
  base::Duration patience_max = base::seconds(3600);
  // From all here to all ready: ranks probe up to 64 sites for a second each and wait for other
  // switches. Slots are held meanwhile.
  base::Duration ready_max = base::seconds(300);
  // A rank that aggregates stays this long for the others: many retransmissions fit.
  base::Duration linger_max = base::seconds(2);
  // Ranks hear of the end at once. Those that do not leave are dismissed after this.
  base::Duration over_max = base::seconds(60);
  // A program has a job for each of its dozen groups; a job here takes some kilobytes.
  std::uint32_t jobs_max = 1024;
  // Of one address: those whose rank 0 is there, or whose first rank while they gather.
  std::uint32_t jobs_of_address_max = 768;
  // A job keeps a place for each of its ranks from the first hello on. That is the memory of all
  // jobs with 256 ranks each, which one hello for a larger world cannot exceed.
  std::uint32_t places_max = 1024 * 256;
  std::uint32_t places_of_address_max = 768 * 256;
};

struct RegistryOptions {
  std::function<base::Instant()> clock;    // unset: io::monotonic_now
  std::function<std::uint64_t()> entropy;  // of epochs; unset: the system's
  EventListener on_event;                  // unset: the process' log
  RegistryLimits limits = {};
  bool has_threads = true;  // false: a test calls work()
};

class JobRegistry final : public Registrar {
 public:
  // `plane` may be null, and outlives the registry. Throws std::system_error without a thread.
  explicit JobRegistry(Plane* plane, RegistryOptions options = {});
  ~JobRegistry() override;

  Entry enter(const Hello& hello, std::shared_ptr<RankListener> listener) override;
  void ready(Entry entry, const ReadyReport& report) override;
  void leave(Entry entry, const Parting& parting) override;
  bool note_call(Entry entry, const CallNote& note) override;
  void stop() override;
  std::vector<JobMetrics> status() const override;

  std::uint32_t slots_free() const;

  // Without threads: looks at the clock, then makes all calls that are due.
  void work();
  base::Instant next_deadline() const;  // of any rank; never: none waits

 private:
  struct Place;
  struct Job;
  struct OfAddress {
    std::uint32_t jobs = 0;
    std::uint32_t places = 0;
  };
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
  FreeSlots slots_for(const std::string& address) const REQUIRES(mutex_);
  bool needs_plane(const Job& job) const REQUIRES(mutex_);
  Answer<void> take_slots(Job& job) REQUIRES(mutex_);
  std::optional<std::uint16_t> take_number() REQUIRES(mutex_);
  void settle(const std::shared_ptr<Job>& job) REQUIRES(mutex_);
  void start_at_plane(const std::shared_ptr<Job>& job);  // a task
  void run(Job& job) REQUIRES(mutex_);
  void refuse_all(const std::shared_ptr<Job>& job, const Refusal& refusal) REQUIRES(mutex_);
  void end(Job& job, const JobEnd& why) REQUIRES(mutex_);
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
  Jobs jobs_ GUARDED_BY(mutex_);  // several of one name where only one is not over
  std::unordered_map<std::uint64_t, std::pair<std::shared_ptr<Job>, std::uint32_t>> entries_
      GUARDED_BY(mutex_);
  std::set<std::pair<base::Instant, std::uint64_t>> deadlines_ GUARDED_BY(mutex_);
  std::uint64_t last_entry_ GUARDED_BY(mutex_) = 0;
  std::vector<bool> numbers_used_ GUARDED_BY(mutex_);
  std::uint16_t next_number_ GUARDED_BY(mutex_) = 1;
  std::uint32_t slots_used_ GUARDED_BY(mutex_) = 0;
  std::uint32_t places_ GUARDED_BY(mutex_) = 0;
  std::map<std::string, OfAddress, std::less<>> of_address_ GUARDED_BY(mutex_);
  // The key is the address of rank 0.
  std::map<std::string, AtAddress, std::less<>> at_plane_of_address_ GUARDED_BY(mutex_);
  bool stopping_ GUARDED_BY(mutex_) = false;
  Agenda agenda_;       // calls of listeners
  Agenda plane_calls_;  // calls of the plane
};

}  // namespace infold::join
