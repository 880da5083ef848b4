// SPDX-License-Identifier: Apache-2.0
//
// The transfers of a call, which follow one another, as InFlight keeps them in each Call. The call
// is done when none is left. Only InFlight changes this object, under its lock. Others read how the
// transfers ended, after InFlight has concluded the call.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "core/worker/worker.h"

namespace infold::rank {

class CallTransfers {
 public:
  CallTransfers() = default;
  CallTransfers(const CallTransfers&) = delete;

  // The failure of the first transfer that failed.
  const std::optional<core::Failure>& failure() const { return failure_; }
  std::uint16_t ranks_summed() const { return ranks_summed_; }

 private:
  friend class InFlight;
  friend class Call;  // which empties it

  CallTransfers& operator=(const CallTransfers&) = default;

  bool any() const { return first_ != core::TransferId::none; }
  bool has(core::TransferId id) const { return first_ <= id && id <= last_; }
  std::uint32_t number_of(core::TransferId id) const {
    return static_cast<std::uint32_t>(static_cast<std::uint64_t>(id) -
                                      static_cast<std::uint64_t>(first_));
  }
  core::TransferId id_of(std::uint32_t number) const {
    return core::TransferId{static_cast<std::uint64_t>(first_) + number};
  }
  void add(core::TransferId id) {
    if (!any()) first_ = id;
    last_ = id;
    ++left_;
  }
  void end_one(const core::Event& event) {
    if (event.failure && !failure_) failure_ = event.failure;
    ranks_summed_ = std::max(ranks_summed_, event.ranks_summed);
    --left_;
  }

  core::TransferId first_ = core::TransferId::none;
  core::TransferId last_ = core::TransferId::none;
  std::uint32_t left_ = 0;
  std::uint16_t ranks_summed_ = 0;
  std::optional<core::Failure> failure_;
  std::size_t driver_ = 0;  // a driver that takes part in the last transfer
};

}  // namespace infold::rank
