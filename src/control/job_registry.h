// SPDX-License-Identifier: Apache-2.0
//
// Which jobs there are, who has come, and what they agreed on.
//
//   enter() --- all ranks have come ---> joined --- ready() by all ---> running --- gone() by all
//      \__ refused: wrong, taken, full, or too late
//
// Which ranks sum on their own host first is proposed when all have come and settled when all are
// ready; a job that is one host then takes nothing of the plane, and neither does one that is all
// in one rack.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "control/plane.h"
#include "control/registrar.h"

namespace infold::control {

class JobRegistry final : public Registrar {
 public:
  // `plane` may be null. `seed` decides epochs, which must differ from those of an earlier life.
  JobRegistry(Plane* plane, std::uint64_t seed);
  ~JobRegistry() override;

  Answer<Seat> enter(const RankWords& words, EndListener on_end) override;
  const JobTerms& terms(const Seat& seat) const override;
  Answer<void> ready(const Seat& seat, const ReadyWords& words) override;
  void leave(const Seat& seat, const Parting& parting) override;
  void linger(const Seat& seat) override;
  void stop() override;
  std::vector<JobStatus> status() const override;

  std::uint32_t slots_free() const;

 private:
  class Job;
  // Who hears why a job has ended.
  struct Ending {
    std::vector<EndListener> told;
    JobEnd why;
    std::optional<std::uint16_t> at_plane;
  };

  static Job& job_of(const Seat& seat);
  Answer<std::shared_ptr<Job>> place(const RankWords& words);
  Answer<void> start(Job& job);
  Answer<void> take_slots(Job& job);
  void settle(Job& job);
  void refuse_all(Job& job, Refusal refusal);
  bool needs_plane(const Job& job) const;
  Ending end(Job& job, JobEnd why);
  void tell(const Ending& ending);
  void drop(const std::shared_ptr<Job>& job);

  Plane* plane_;
  std::uint64_t seed_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::map<std::string, std::shared_ptr<Job>, std::less<>> jobs_;
  std::uint32_t slots_used_ = 0;
  std::uint16_t next_number_ = 1;
  bool stopping_ = false;
};

}  // namespace infold::control
