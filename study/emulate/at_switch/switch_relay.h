// SPDX-License-Identifier: Apache-2.0
//
// The registrar of an emulator in front of a real switch. Real ranks join here. The relay passes
// their messages to the switch and the switch's answers back, and makes emulated ranks join at the
// switch as well. Like a rack's relay (join/relay), it decides nothing. It asks real ranks to
// announce their transfers, which the switch does not ask for.
//
//   real rank 0 --.                    .--> real switch <--- packets of real ranks
//                  \-- this relay ----/          ^
//                       emulated ranks ----------'--- packets of emulated ranks
//
// Emulated ranks come with the first real rank and say the same as it does. They leave before the
// last real rank, or together with it if ranks sum. Any thread may call these functions.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/mutex.h"
#include "io/address/socket_address.h"
#include "join/agenda.h"
#include "join/rank_listener.h"
#include "join/registrar.h"
#include "join/relay/relay_ear.h"

namespace infold::emulate {

// The party that runs the emulated ranks.
class RankPlane {
 public:
  virtual ~RankPlane() = default;
  // The address of every site must have a host. May take long.
  virtual join::Answer<void> start_job(const join::JobTerms& terms) = 0;
  virtual void forget_job(std::uint16_t job) = 0;
  // If emulated ranks cannot make the call, the plane ends the job through SwitchRelay::fail().
  virtual void note_call(std::uint16_t job, const join::CallNote& note) = 0;
};

struct SwitchRelayOptions {
  std::uint32_t ranks = 0;
  std::uint32_t real = 0;  // the number of real ranks, which come first
  io::SocketAddress real_switch = {};
  // Where others find the site of each emulated rank; empty: no rank sums.
  std::vector<io::SocketAddress> rank_sites = {};
  std::uint16_t switch_weight = 1;  // for sites of the switch that leave the weight to the ranks
  // A rank's link to the switch, for tests; unset: a JobStream.
  std::function<std::unique_ptr<join::RankLink>(const join::Hello&,
                                                std::shared_ptr<join::RankListener>)>
      link = {};
  bool has_threads = true;  // false: a test calls work()
};

class SwitchRelay final : public join::Registrar {
 public:
  // `plane` must outlive this object. Throws std::system_error if no thread can start.
  SwitchRelay(RankPlane& plane, SwitchRelayOptions options);
  ~SwitchRelay() override;

  Entry enter(const join::Hello& hello, std::shared_ptr<join::RankListener> listener) override;
  void ready(Entry entry, const join::ReadyReport& report) override;
  void leave(Entry entry, const join::Parting& parting) override;
  bool note_call(Entry entry, const join::CallNote& note) override;
  void stop() override;
  std::vector<join::JobMetrics> status() const override;

  // Emulated ranks cannot continue the job. All ranks learn that the first emulated rank failed.
  void fail(std::uint16_t job);

  // Without threads, this makes all calls that are due.
  void work();

 private:
  struct Job;
  struct Rank;
  using Ear = join::RelayEar<SwitchRelay>;
  using Inbox = join::RelayInbox<SwitchRelay>;
  friend Ear;

  // The agenda runs its tasks without the lock.
  std::uint64_t add(const std::shared_ptr<Job>& job, const join::Hello& hello,
                    std::shared_ptr<join::RankListener> listener) REQUIRES(mutex_);
  void add_emulated(const std::shared_ptr<Job>& job, const join::Hello& real) REQUIRES(mutex_);
  void open_link(std::uint64_t entry);  // a task of the agenda
  void tell_link(std::uint64_t entry, std::function<void(join::RankLink&)> message)
      REQUIRES(mutex_);
  void say_ready(std::uint64_t entry, Rank& rank) REQUIRES(mutex_);
  void start(const std::shared_ptr<Job>& job);  // a task of the agenda
  // Called without the lock, because what it reads of the job no longer changes.
  join::Answer<void> start_at_plane(const Job& job, const join::JobTerms& terms);
  void leave_link(std::uint64_t entry, Rank& rank, const join::Parting& parting) REQUIRES(mutex_);
  void dissolve(const std::shared_ptr<Job>& job) REQUIRES(mutex_);
  void refuse_real(const std::shared_ptr<Job>& job, const join::Refusal& refusal) REQUIRES(mutex_);
  void let_go(std::uint64_t entry) REQUIRES(mutex_);
  void cut(Rank& rank) REQUIRES(mutex_);
  join::JobTerms terms_for_ranks(const join::JobTerms& terms) const;

  // These handle the switch's answers.
  void hear_terms(std::uint64_t entry, const join::JobTerms& terms) REQUIRES(mutex_);
  void hear_go(std::uint64_t entry, const std::vector<join::HostGroup>& groups) REQUIRES(mutex_);
  void hear_refusal(std::uint64_t entry, const join::Refusal& refusal) REQUIRES(mutex_);
  void hear_end(std::uint64_t entry, const join::JobEnd& end) REQUIRES(mutex_);
  void hear_dismissal(std::uint64_t entry) REQUIRES(mutex_);

  RankPlane& plane_;
  const SwitchRelayOptions options_;
  const std::shared_ptr<Inbox> inbox_ = std::make_shared<Inbox>();
  base::Mutex& mutex_ = inbox_->mutex;
  // Jobs that real ranks may still enter.
  std::map<std::string, std::shared_ptr<Job>, std::less<>> jobs_ GUARDED_BY(mutex_);
  std::map<std::uint64_t, Rank> ranks_ GUARDED_BY(mutex_);
  std::uint64_t last_entry_ GUARDED_BY(mutex_) = 0;
  bool stopping_ GUARDED_BY(mutex_) = false;
  join::Agenda agenda_;  // calls to links, listeners and the plane
};

}  // namespace infold::emulate
