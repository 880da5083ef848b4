// SPDX-License-Identifier: Apache-2.0
//
// Keeps a coflow for each job whose iteration has gradients left to sum, and their order. The order
// is made again when an iteration's first gradient comes and when its last piece ends.
#include <algorithm>
#include <map>
#include <set>

#include "mix/schedulers/coflow_order.h"
#include "mix/schedulers/job_queue.h"

namespace infold::mix {
namespace {

class Sincronia final : public Scheduler {
 public:
  explicit Sincronia(const PieceOptions& options) : options_(options) {}

  void add_job(const JobShape& job) override {
    jobs_.emplace(job.job, Job{.shape = job, .queue = JobQueue(JobQueue::Order::as_ready)});
  }

  void remove_job(JobIndex job) override {
    jobs_.erase(job);
    make_order();
  }

  // An iteration's first gradient comes when the sums of the one before have ended.
  void add(const Gradient& gradient) override {
    Job& job = jobs_.at(gradient.job);
    job.queue.add(gradient);
    if (job.left > 0) return;
    job.left = job.shape.elements;
    make_order();
  }

  void finish(const Piece& piece) override {
    Job& job = jobs_.at(piece.job);
    job.queue.finish(piece);
    CHECK_THAT(piece.elements, <=, job.left);
    job.left -= piece.elements;
    if (job.left == 0) make_order();
  }

  std::optional<Piece> next() override {
    std::set<std::uint32_t> taken;  // links on which an earlier job is active
    for (Job* const job : order_) {
      const bool is_held =
          std::any_of(job->shape.links.begin(), job->shape.links.end(),
                      [&](const LinkUse& use) { return taken.contains(use.link); });
      if (!is_held && job->queue.may_send(options_)) return job->queue.take(options_);
      if (!job->queue.is_active()) continue;
      for (const LinkUse& use : job->shape.links) taken.insert(use.link);
    }
    return std::nullopt;
  }

 private:
  struct Job {
    JobShape shape;
    JobQueue queue;
    std::uint64_t left = 0;  // elements of the iteration that are not summed
  };

  void make_order() {
    std::vector<Job*> open;
    std::vector<Coflow> coflows;
    for (auto& [index, job] : jobs_) {
      if (job.left == 0) continue;
      open.push_back(&job);
      Coflow& coflow = coflows.emplace_back();
      for (const LinkUse& use : job.shape.links) {
        coflow.loads.push_back({use.link, use.time_per_element * static_cast<double>(job.left)});
      }
    }
    order_.clear();
    for (const std::size_t index : coflow_order(coflows)) order_.push_back(open[index]);
  }

  PieceOptions options_;
  std::map<JobIndex, Job> jobs_;
  std::vector<Job*> order_;  // of jobs with a coflow
};

}  // namespace

std::unique_ptr<Scheduler> make_sincronia(const PieceOptions& options) {
  return std::make_unique<Sincronia>(options);
}

}  // namespace infold::mix
