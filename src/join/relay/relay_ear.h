// SPDX-License-Identifier: Apache-2.0
//
// Passes calls from the links that a relay has opened, one for each rank, to the relay. The relay
// may be destroyed before its links. `Relay` is a class with hear_terms(), hear_go(),
// hear_refusal(), hear_end() and hear_dismissal(), which all take the rank's entry and require the
// lock.
#pragma once

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "base/mutex.h"
#include "join/rank_listener.h"

namespace infold::join {

template <typename Relay>
struct RelayInbox {
  base::Mutex mutex;  // the relay's lock
  Relay* relay GUARDED_BY(mutex) = nullptr;
};

// Listens for one rank. The link's threads call it.
template <typename Relay>
class RelayEar final : public RankListener {
 public:
  RelayEar(std::shared_ptr<RelayInbox<Relay>> inbox, std::uint64_t entry)
      : inbox_(std::move(inbox)), entry_(entry) {}

  void all_here(const JobTerms& terms) override { pass(&Relay::hear_terms, terms); }
  void all_ready(const std::vector<HostGroup>& groups) override { pass(&Relay::hear_go, groups); }
  void refused(const Refusal& refusal) override { pass(&Relay::hear_refusal, refusal); }
  void ended(const JobEnd& end) override { pass(&Relay::hear_end, end); }
  void dismissed() override { pass(&Relay::hear_dismissal); }

 private:
  // The functions that this calls require the relay's lock. clang does not know that this is the
  // inbox's lock, and does not check calls through a pointer to a function.
  template <typename... Told>
  void pass(void (Relay::*hear)(std::uint64_t entry, const Told&... told), const Told&... told) {
    const base::MutexLock lock(inbox_->mutex);
    if (inbox_->relay != nullptr) (inbox_->relay->*hear)(entry_, told...);
  }

  const std::shared_ptr<RelayInbox<Relay>> inbox_;
  const std::uint64_t entry_;
};

}  // namespace infold::join
