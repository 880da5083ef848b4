// SPDX-License-Identifier: Apache-2.0
//
// Slots go from job to job with each piece. A job whose turn it is and that finds too few free
// slots keeps others from taking more at its switches. So no job waits for ever.
#include <algorithm>
#include <map>
#include <set>

#include "mix/schedulers/job_queue.h"

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
  }
  void remove_job(JobIndex job) override { jobs_.erase(job); }
  void add(const Gradient& gradient) override { jobs_.at(gradient.job).queue.add(gradient); }

  void finish(const Piece& piece) override {
    Job& job = jobs_.at(piece.job);
    job.queue.finish(piece);
    for (const std::uint32_t each : job.shape.switches) used_[each] -= piece.elements;
  }

  std::optional<Piece> next() override {
    std::set<std::uint32_t> kept;  // switches that a job earlier in turn waits for
    auto each = jobs_.upper_bound(last_);
    for (std::size_t count = 0; count < jobs_.size(); ++count, ++each) {
      if (each == jobs_.end()) each = jobs_.begin();
      Job& job = each->second;
      if (!job.queue.may_send(options_)) continue;
      if (!fits(job, kept)) {
        kept.insert(job.shape.switches.begin(), job.shape.switches.end());
        continue;
      }
      last_ = each->first;
      const Piece piece = job.queue.take(options_);
      for (const std::uint32_t at : job.shape.switches) used_[at] += piece.elements;
      return piece;
    }
    return std::nullopt;
  }

 private:
  struct Job {
    JobShape shape;
    JobQueue queue;
  };

  bool fits(const Job& job, const std::set<std::uint32_t>& kept) {
    const std::uint64_t elements = job.queue.next_elements(options_);
    return std::all_of(job.shape.switches.begin(), job.shape.switches.end(),
                       [&](std::uint32_t each) {
                         return !kept.contains(each) && used_[each] + elements <= slot_elements_;
                       });
  }

  PieceOptions options_;
  std::uint64_t slot_elements_;
  std::map<JobIndex, Job> jobs_;
  std::map<std::uint32_t, std::uint64_t> used_;  // by switch
  JobIndex last_ = ~JobIndex{0};                 // whose turn it was
};

}  // namespace

std::unique_ptr<Scheduler> make_slot_sharing(const PieceOptions& options,
                                             std::uint64_t slot_elements) {
  return std::make_unique<SlotSharing>(options, slot_elements);
}

}  // namespace infold::mix
