// SPDX-License-Identifier: Apache-2.0
//
// Everything that happens outside the network, in virtual time: jobs are submitted, GPUs end their
// work, ranks receive their sums. Events of the same moment happen in the order in which they were
// added.
#pragma once

#include <cstdint>
#include <queue>
#include <vector>

#include "base/instant.h"
#include "study/mix/schedulers/scheduler.h"

namespace infold::mix {

struct MixEvent {
  enum class Kind : std::uint8_t { submitted, work_ended, piece_summed };

  base::Instant at;
  Kind kind = Kind::submitted;
  std::uint16_t rank = 0;
  JobIndex job = 0;
  std::uint32_t piece = 0;  // the piece's number within the job
};

class Agenda {
 public:
  void add(const MixEvent& event) { events_.push({event, count_++}); }

  bool empty() const { return events_.empty(); }
  base::Instant next_at() const {
    return events_.empty() ? base::Instant::never() : events_.top().event.at;
  }
  // Requires: !empty().
  MixEvent take() {
    const MixEvent event = events_.top().event;
    events_.pop();
    return event;
  }

 private:
  struct Entry {
    MixEvent event;
    std::uint64_t number = 0;

    bool operator<(const Entry& other) const {  // the top of the queue is the greatest
      if (event.at != other.event.at) return event.at > other.event.at;
      return number > other.number;
    }
  };

  std::priority_queue<Entry> events_;
  std::uint64_t count_ = 0;
};

}  // namespace infold::mix
