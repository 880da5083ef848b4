// SPDX-License-Identifier: Apache-2.0
//
// Keeps a coflow for each job whose iteration has gradients left to sum, and the order of coflows.
// The order is recomputed when an iteration's first gradient comes and when its last piece ends.
#include <algorithm>
#include <map>
#include <set>

#include "study/mix/schedulers/coflow_order.h"
#include "study/mix/schedulers/job_queue.h"

namespace infold::mix {
namespace {

constexpr double kRounding = 1e-9;

class Sincronia final : public Scheduler {
 public:
  explicit Sincronia(const PieceOptions& options) : options_(options) {}

  void add_job(const JobShape& job) override {
    Job& added =
        jobs_.emplace(job.job, Job{job, JobQueue(JobQueue::Order::as_ready)}).first->second;
    for (const LinkUse& use : job.links) {
      added.slowest = std::max(added.slowest, use.time_per_element);
    }
  }

  void remove_job(JobIndex job) override {
    jobs_.erase(job);
    make_order();
  }

  // An iteration's first gradient comes after the sums of the previous one have ended.
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

  // A job that is held back takes no link, so that jobs after it may use the links that it leaves
  // idle.
  std::optional<Piece> next() override {
    std::map<std::uint32_t, double> taken;  // share of each link's rate
    for (Job* const job : order_) {
      const bool is_held = std::any_of(
          job->shape.links.begin(), job->shape.links.end(),
          [&](const LinkUse& use) { return taken[use.link] + job->share_of(use) > 1 + kRounding; });
      if (is_held) continue;
      if (job->queue.may_send(options_)) return job->queue.take(options_);
      if (!job->queue.is_active()) continue;
      for (const LinkUse& use : job->shape.links) taken[use.link] += job->share_of(use);
    }
    return std::nullopt;
  }

 private:
  struct Job {
    JobShape shape;
    JobQueue queue;
    double slowest = 0;      // the time for an element on its slowest link
    std::uint64_t left = 0;  // elements of the iteration that have not been summed

    // Returns the share of the link's rate that the job takes while its slowest link is full.
    double share_of(const LinkUse& use) const {
      return slowest > 0 ? use.time_per_element / slowest : 0;
    }
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
  std::vector<Job*> order_;  // jobs that have a coflow
};

}  // namespace

std::unique_ptr<Scheduler> make_sincronia(const PieceOptions& options) {
  return std::make_unique<Sincronia>(options);
}

}  // namespace infold::mix
