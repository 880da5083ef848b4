// SPDX-License-Identifier: Apache-2.0
//
// Joins the workers of one rank, each of which drives some of the job's sites
// (WorkerOptions::drives). All workers get the same transfers in the same order, so an id names the
// same transfer at all of them. A transfer is done when it is done at each worker that takes part
// in it. A later transfer that is sent `after` it may then go at all workers (Worker::release).
// This class is pure and not thread-safe.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/check.h"
#include "core/worker/worker.h"

namespace infold::core {

class JointTransfers {
 public:
  struct Ended {
    Event event;
    bool is_awaited = false;  // a later transfer waits for its release
  };

  // `transfers_max` is the limit of each worker. A transfer in flight is in flight at one or more
  // of them.
  JointTransfers(std::size_t workers, std::uint32_t transfers_max) {
    entries_.reserve(workers * transfers_max);
  }

  // Returns the `after` that a request should have: none if that transfer is done everywhere.
  TransferId still_awaited(TransferId after) {
    return find(after) == entries_.end() ? TransferId::none : after;
  }

  // Adds a transfer that all workers have accepted, of which `takers` take part in it. Ids rise.
  void add(TransferId id, TransferId after, std::uint32_t takers) {
    CHECK_THAT(takers, >, 0U);
    CHECK(entries_.empty() || entries_.back().id < id);
    if (const auto before = find(after); before != entries_.end()) before->is_awaited = true;
    entries_.push_back({.id = id, .left = takers});
  }

  // Takes a worker's event. Returns the rank's event if this was the last worker of the transfer.
  std::optional<Ended> take(const Event& event) {
    const auto entry = find(event.id);
    CHECK(entry != entries_.end());
    CHECK_THAT(entry->left, >, 0U);
    entry->ranks_summed = std::max(entry->ranks_summed, event.ranks_summed);
    if (event.failure && !failure_) failure_ = event.failure;
    entry->failed = entry->failed || event.failure;
    if (--entry->left > 0) return std::nullopt;
    const Entry ended = *entry;
    entries_.erase(entry);
    return Ended{{ended.id, ended.failed ? failure_ : std::nullopt, ended.ranks_summed},
                 ended.is_awaited};
  }

 private:
  struct Entry {
    TransferId id = TransferId::none;
    std::uint32_t left = 0;  // workers that are not done
    std::uint16_t ranks_summed = 0;
    bool failed = false;
    bool is_awaited = false;
  };

  std::vector<Entry>::iterator find(TransferId id) {
    const auto place =
        std::lower_bound(entries_.begin(), entries_.end(), id,
                         [](const Entry& entry, TransferId sought) { return entry.id < sought; });
    return place != entries_.end() && place->id == id ? place : entries_.end();
  }

  std::vector<Entry> entries_;      // in flight, in the order of ids
  std::optional<Failure> failure_;  // the first failure; it ends the job at all workers
};

}  // namespace infold::core
