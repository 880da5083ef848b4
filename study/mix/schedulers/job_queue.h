// SPDX-License-Identifier: Apache-2.0
//
// The gradients of one job that wait for the network, and how much of the job is in flight.
// Schedulers that cut gradients into pieces keep one queue for each job.
#pragma once

#include <algorithm>
#include <deque>

#include "base/check.h"
#include "study/mix/schedulers/scheduler.h"

namespace infold::mix {

class JobQueue {
 public:
  enum class Order : std::uint8_t { as_ready, by_layer };

  explicit JobQueue(Order order) : order_(order) {}

  void add(const Gradient& gradient) {
    auto place = waiting_.end();
    if (order_ == Order::by_layer) {
      place = std::find_if(waiting_.begin(), waiting_.end(),
                           [&](const Gradient& each) { return each.layer > gradient.layer; });
    }
    waiting_.insert(place, gradient);
  }

  bool has_waiting() const { return !waiting_.empty(); }
  std::uint64_t in_flight() const { return in_flight_; }
  bool is_active() const { return has_waiting() || in_flight_ > 0; }
  // Returns whether the next piece stays within the credit.
  bool may_send(const PieceOptions& options) const {
    return has_waiting() &&
           (in_flight_ == 0 || in_flight_ + next_elements(options) <= options.credit);
  }
  std::uint64_t next_elements(const PieceOptions& options) const {
    return std::min(waiting_.front().elements, options.piece);
  }

  // Requires: has_waiting().
  Piece take(const PieceOptions& options) {
    CHECK(has_waiting());
    Gradient& first = waiting_.front();
    const Piece piece = {first.job, first.layer, next_elements(options)};
    first.elements -= piece.elements;
    in_flight_ += piece.elements;
    if (first.elements == 0) waiting_.pop_front();
    return piece;
  }

  void finish(const Piece& piece) {
    CHECK_THAT(piece.elements, <=, in_flight_);
    in_flight_ -= piece.elements;
  }

 private:
  Order order_;
  std::deque<Gradient> waiting_;
  std::uint64_t in_flight_ = 0;
};

}  // namespace infold::mix
