// SPDX-License-Identifier: Apache-2.0
//
// Schedules each job on its own: the most urgent piece goes first, within the job's credit.
#include <map>

#include "study/mix/schedulers/job_queue.h"

namespace infold::mix {
namespace {

class ByLayer final : public Scheduler {
 public:
  explicit ByLayer(const PieceOptions& options) : options_(options) {}

  void add_job(const JobShape& job) override {
    queues_.emplace(job.job, JobQueue(JobQueue::Order::by_layer));
  }
  void remove_job(JobIndex job) override { queues_.erase(job); }
  void add(const Gradient& gradient) override { queues_.at(gradient.job).add(gradient); }
  void finish(const Piece& piece) override { queues_.at(piece.job).finish(piece); }
  std::optional<Piece> next() override {
    for (auto& [job, queue] : queues_) {
      if (queue.may_send(options_)) return queue.take(options_);
    }
    return std::nullopt;
  }

 private:
  PieceOptions options_;
  std::map<JobIndex, JobQueue> queues_;
};

}  // namespace

std::unique_ptr<Scheduler> make_priority(const PieceOptions& options) {
  return std::make_unique<ByLayer>(options);
}

}  // namespace infold::mix
