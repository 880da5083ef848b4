// SPDX-License-Identifier: Apache-2.0
//
// What ranks meet at a rack's switch: it decides nothing, but brings each rank's words to the
// registry of the parent, over a connection for each, and what is answered back. So one registry
// knows all ranks, whichever switch they come through, and a rank that is lost anywhere ends the
// job everywhere. On the way it puts in what this switch has: its slots, its limits, and its sites
// in place of the parent's.
//
// What it cannot do is said with ready(), where all ranks of the job hear of it.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include "control/job_link.h"
#include "control/plane.h"
#include "control/registrar.h"
#include "control/uplink.h"

namespace infold::control {

struct RackRelayOptions {
  std::string parent;    // its control address
  std::string address;   // where ranks join here, for errors
  std::string identity;  // of this switch, in this life
};

class RackRelay final : public Registrar {
 public:
  // `plane` and `uplink` outlive it.
  RackRelay(Plane& plane, Uplink& uplink, RackRelayOptions options);
  ~RackRelay() override;

  Answer<Seat> enter(const RankWords& words, EndListener on_end) override;
  const JobTerms& terms(const Seat& seat) const override;
  Answer<void> ready(const Seat& seat, const ReadyWords& words) override;
  // Waits as the parent does in linger().
  void leave(const Seat& seat, const Parting& parting) override;
  void linger(const Seat&) override {}
  void stop() override;
  std::vector<JobStatus> status() const override;

 private:
  class Job;
  struct Promise;
  using Key = std::pair<std::uint16_t, std::uint32_t>;  // the parent's number and epoch

  static Job& job_of(const Seat& seat);
  Answer<RankWords> words_for_parent(const RankWords& words);
  std::shared_ptr<Job> find_or_make(const RankWords& words, const JobTerms& terms);
  JobTerms own_terms(const JobTerms& terms, std::uint32_t rank) const;
  void take_slots(Job& job);
  void give_back_slots(Job& job);
  void look_up(Job& job);
  void begin(Job& job);
  void tell(Job& job, std::uint32_t rank, const JobEnd& end);
  void drop(Job& job);

  Plane& plane_;
  Uplink& uplink_;
  const RackRelayOptions options_;
  std::stop_source stop_;  // of ranks that are joining
  mutable std::mutex mutex_;
  std::condition_variable looked_up_;
  std::map<std::string, Promise> promises_;
  std::map<Key, std::shared_ptr<Job>> jobs_;
  std::uint32_t slots_used_ = 0;
  std::uint32_t slots_promised_ = 0;
};

}  // namespace infold::control
