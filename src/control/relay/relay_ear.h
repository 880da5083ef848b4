// SPDX-License-Identifier: Apache-2.0
//
// The way from the links that a relay has opened, one for each rank, to the relay. A relay may go
// before its links do. It is a class with hear_terms(), hear_go(), hear_refusal(), hear_end() and
// hear_dismissal(), all of which get the rank's entry and require the lock.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "control/rank_listener.h"

namespace infold::control {

template <typename Relay>
struct RelayInbox {
  std::mutex mutex;  // the relay's lock
  Relay* relay = nullptr;
};

// Hears for one rank, from the link's threads.
template <typename Relay>
class RelayEar final : public RankListener {
 public:
  RelayEar(std::shared_ptr<RelayInbox<Relay>> inbox, std::uint64_t entry)
      : inbox_(std::move(inbox)), entry_(entry) {}

  void all_here(const JobTerms& terms) override {
    pass([&](Relay& relay) { relay.hear_terms(entry_, terms); });
  }
  void all_ready(const std::vector<HostGroup>& groups) override {
    pass([&](Relay& relay) { relay.hear_go(entry_, groups); });
  }
  void refused(const Refusal& refusal) override {
    pass([&](Relay& relay) { relay.hear_refusal(entry_, refusal); });
  }
  void ended(const JobEnd& end) override {
    pass([&](Relay& relay) { relay.hear_end(entry_, end); });
  }
  void dismissed() override {
    pass([&](Relay& relay) { relay.hear_dismissal(entry_); });
  }

 private:
  template <typename Tell>
  void pass(const Tell& tell) {
    const std::lock_guard lock(inbox_->mutex);
    if (inbox_->relay != nullptr) tell(*inbox_->relay);
  }

  const std::shared_ptr<RelayInbox<Relay>> inbox_;
  const std::uint64_t entry_;
};

}  // namespace infold::control
