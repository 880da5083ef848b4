// SPDX-License-Identifier: Apache-2.0
//
// Slots go from job to job with each piece. The job that was served longest ago goes first. If it
// does not find enough free slots, it stops others from taking more at any of its switches, so that
// no job waits forever. Other jobs that wait stop others only at the switches that lack slots.
#include <algorithm>
#include <map>
#include <set>

#include "study/mix/schedulers/job_queue.h"

namespace infold::mix {
namespace {

class SlotSharing final : public Scheduler {
 public:
  SlotSharing(const PieceOptions& options, std::uint64_t slot_elements)
      : options_(options), slot_elements_(slot_elements) {
    options_.piece = std::min(options_.piece, slot_elements_);
  }

  void add_job(const JobShape& job) override {
    jobs_.emplace(job.job, Job{.shape = job, .queue = JobQueue(JobQueue::Order::as_ready)});
    turns_.push_back(job.job);
  }
  void remove_job(JobIndex job) override {
    jobs_.erase(job);
    turns_.erase(std::find(turns_.begin(), turns_.end(), job));
  }
  void add(const Gradient& gradient) override { jobs_.at(gradient.job).queue.add(gradient); }

  void finish(const Piece& piece) override {
    Job& job = jobs_.at(piece.job);
    job.queue.finish(piece);
    for (const std::uint32_t each : job.shape.switches) used_[each] -= piece.elements;
  }

  std::optional<Piece> next() override {
    std::set<std::uint32_t> kept;  // switches for which an earlier job waits
    bool is_first = true;
    for (auto turn = turns_.begin(); turn != turns_.end(); ++turn) {
      Job& job = jobs_.at(*turn);
      if (!job.queue.may_send(options_)) continue;
      const std::vector<std::uint32_t> lacking = switches_that_lack(job, kept);
      if (lacking.empty()) {
        std::rotate(turn, turn + 1, turns_.end());
        const Piece piece = job.queue.take(options_);
        for (const std::uint32_t each : job.shape.switches) used_[each] += piece.elements;
        return piece;
      }
      const std::vector<std::uint32_t>& keep = is_first ? job.shape.switches : lacking;
      kept.insert(keep.begin(), keep.end());
      is_first = false;
    }
    return std::nullopt;
  }

 private:
  struct Job {
    JobShape shape;
    JobQueue queue;
  };

  std::vector<std::uint32_t> switches_that_lack(const Job& job,
                                                const std::set<std::uint32_t>& kept) {
    const std::uint64_t elements = job.queue.next_elements(options_);
    std::vector<std::uint32_t> lacking;
    for (const std::uint32_t each : job.shape.switches) {
      if (kept.contains(each) || used_[each] + elements > slot_elements_) lacking.push_back(each);
    }
    return lacking;
  }

  PieceOptions options_;
  std::uint64_t slot_elements_;
  std::map<JobIndex, Job> jobs_;
  std::map<std::uint32_t, std::uint64_t> used_;  // by switch
  std::vector<JobIndex> turns_;                  // the job that was served last is at the end
};

}  // namespace

std::unique_ptr<Scheduler> make_slot_sharing(const PieceOptions& options,
                                             std::uint64_t slot_elements) {
  return std::make_unique<SlotSharing>(options, slot_elements);
}

}  // namespace infold::mix
