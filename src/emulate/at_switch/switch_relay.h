// SPDX-License-Identifier: Apache-2.0
//
// The registrar of an emulator before a real switch. Real ranks join here. The relay passes their
// messages to the switch and the switch's answers back, and lets emulated ranks join there beside
// them. It decides nothing, as a rack's relay (control/relay) decides nothing. Real ranks hear that
// they are to tell their transfers, which the switch does not ask for.
//
//   real rank 0 --.                    .--> real switch <--- packets of real ranks
//                  \-- this relay ----/          ^
//                       emulated ranks ----------'--- packets of emulated ranks
//
// Emulated ranks come with the first real rank, say what it says, and leave before the last one, or
// with it where ranks sum. Any thread.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "control/agenda.h"
#include "control/rank_listener.h"
#include "control/registrar.h"
#include "control/relay/relay_ear.h"
#include "io/address/socket_address.h"

namespace infold::emulate {

// Where emulated ranks run.
class RankPlane {
 public:
  virtual ~RankPlane() = default;
  // The addresses of sites have a host each. May take long.
  virtual control::Answer<void> start_job(const control::JobTerms& terms) = 0;
  virtual void forget_job(std::uint16_t job) = 0;
  // What emulated ranks cannot make ends the job through SwitchRelay::fail().
  virtual void note_call(std::uint16_t job, const control::CallNote& note) = 0;
};

struct SwitchRelayOptions {
  std::uint32_t ranks = 0;
  std::uint32_t real = 0;  // the first ones
  io::SocketAddress real_switch = {};
  // Where others find the site of each emulated rank; empty: no rank sums.
  std::vector<io::SocketAddress> rank_sites = {};
  std::uint16_t switch_weight = 1;  // of each site of the switch that leaves it to the ranks
  // A rank's link to the switch, for tests; unset: a JobStream.
  std::function<std::unique_ptr<control::RankLink>(const control::Hello&,
                                                   std::shared_ptr<control::RankListener>)>
      link = {};
  bool has_threads = true;  // false: a test calls work()
};

class SwitchRelay final : public control::Registrar {
 public:
  // `plane` outlives it. Throws std::system_error without a thread.
  SwitchRelay(RankPlane& plane, SwitchRelayOptions options);
  ~SwitchRelay() override;

  Entry enter(const control::Hello& hello,
              std::shared_ptr<control::RankListener> listener) override;
  void ready(Entry entry, const control::ReadyReport& report) override;
  void leave(Entry entry, const control::Parting& parting) override;
  bool note_call(Entry entry, const control::CallNote& note) override;
  void stop() override;
  std::vector<control::JobStatus> status() const override;

  // Emulated ranks cannot go on with the job. All ranks hear that the first of them failed.
  void fail(std::uint16_t job);

  // Without threads: makes all calls that are due.
  void work();

 private:
  struct Job;
  struct Rank;
  using Ear = control::RelayEar<SwitchRelay>;
  using Inbox = control::RelayInbox<SwitchRelay>;
  friend Ear;

  // All below require the lock, but for those that say that they are tasks.
  std::uint64_t add(const std::shared_ptr<Job>& job, const control::Hello& hello,
                    std::shared_ptr<control::RankListener> listener);
  void add_emulated(const std::shared_ptr<Job>& job, const control::Hello& real);
  void open_link(std::uint64_t entry);  // a task
  void tell_link(std::uint64_t entry, std::function<void(control::RankLink&)> message);
  void say_ready(std::uint64_t entry, Rank& rank);
  void start(const std::shared_ptr<Job>& job);  // a task
  // Without the lock; what it reads of the job does not change any more.
  control::Answer<void> start_at_plane(const Job& job, const control::JobTerms& terms);
  void leave_link(std::uint64_t entry, Rank& rank, const control::Parting& parting);
  void dissolve(const std::shared_ptr<Job>& job);
  void refuse_real(const std::shared_ptr<Job>& job, const control::Refusal& refusal);
  void let_go(std::uint64_t entry);
  void cut(Rank& rank);
  control::JobTerms terms_for_ranks(const control::JobTerms& terms) const;

  // From the switch.
  void hear_terms(std::uint64_t entry, const control::JobTerms& terms);
  void hear_go(std::uint64_t entry, const std::vector<control::HostGroup>& groups);
  void hear_refusal(std::uint64_t entry, const control::Refusal& refusal);
  void hear_end(std::uint64_t entry, const control::JobEnd& end);
  void hear_dismissal(std::uint64_t entry);

  RankPlane& plane_;
  const SwitchRelayOptions options_;
  const std::shared_ptr<Inbox> inbox_ = std::make_shared<Inbox>();
  std::mutex& mutex_ = inbox_->mutex;
  std::map<std::string, std::shared_ptr<Job>, std::less<>> jobs_;  // that real ranks may enter
  std::map<std::uint64_t, Rank> ranks_;
  std::uint64_t last_entry_ = 0;
  bool stopping_ = false;
  control::Agenda agenda_;  // calls of links, listeners and the plane
};

}  // namespace infold::emulate
