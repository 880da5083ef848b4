// SPDX-License-Identifier: Apache-2.0
//
// A rank's connection to the control plane of one host, its own or that of its rack's switch: joins
// a job there, hears how it ends, and leaves. join(), then ready(), then watch().
#pragma once

#include <chrono>
#include <memory>
#include <stop_token>
#include <string>

#include "control/registrar.h"

namespace infold::control {

class JobLink {
 public:
  // The host that this link goes to may also end without a word.
  using EndListener = Registrar::EndListener;

  // When to do without, apart from words.patience.
  struct Limits {
    std::chrono::milliseconds connect = std::chrono::hours(24);  // until the host answers at all
    std::stop_token stop;                                        // of joining
    std::string host = {};  // put before its address in errors, with a blank
  };

  // Blocks until all ranks have come, at most words.patience. `address` is "host:port".
  static Answer<std::unique_ptr<JobLink>> join(const std::string& address, const RankWords& words,
                                               const Limits& limits);
  ~JobLink();  // leaves
  JobLink(const JobLink&) = delete;
  JobLink& operator=(const JobLink&) = delete;

  const JobTerms& terms() const;
  // Says that this rank can receive packets, and what it has found; blocks until all can. After
  // that the terms have the groups in use.
  Answer<void> ready(const ReadyWords& words);
  // Calls the listener from a thread of its own, at most once, and not after leave().
  void watch(EndListener on_end);
  // Leaves in good order: at once, but where this rank aggregates for others only when they do,
  // and in 2.5 s at most. `abort`: why this rank's calls failed, which the others are told.
  void leave(const std::optional<core::Abort>& abort = {});
  // For a rack's switch. The rank is lost; waits until that is heard, as leave() does.
  void report_lost();
  // Ends without a word, also what another thread is at; then this may only be destroyed.
  void cut();

 private:
  class State;
  explicit JobLink(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace infold::control
