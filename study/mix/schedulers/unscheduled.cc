// SPDX-License-Identifier: Apache-2.0
//
// Without a scheduler, whole gradients go out in the order in which they come.
#include <deque>

#include "study/mix/schedulers/scheduler.h"

namespace infold::mix {
namespace {

class Unscheduled final : public Scheduler {
 public:
  void add_job(const JobShape&) override {}
  void remove_job(JobIndex) override {}
  void add(const Gradient& gradient) override {
    ready_.push_back({gradient.job, gradient.layer, gradient.elements});
  }
  void finish(const Piece&) override {}
  std::optional<Piece> next() override {
    if (ready_.empty()) return std::nullopt;
    const Piece piece = ready_.front();
    ready_.pop_front();
    return piece;
  }

 private:
  std::deque<Piece> ready_;
};

}  // namespace

std::unique_ptr<Scheduler> make_unscheduled() { return std::make_unique<Unscheduled>(); }

}  // namespace infold::mix
