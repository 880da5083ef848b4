// SPDX-License-Identifier: Apache-2.0
//
// A rank's connection to one join server: a switch, its rack's switch, or rank 0. It joins a job
// there, hears of the job's end, and leaves. join(), then stay(), ready() and watch().
//
// join() and ready() block, until the deadline of joining at most, whatever the host does.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>

#include "io/address/socket_address.h"
#include "join/registrar.h"

namespace infold::join {

class JobLink {
 public:
  // Hears of the end of the job, or of the host, which may break off.
  using EndListener = std::function<void(const JobEnd&)>;

  struct Limits {
    // Until the host answers at all; and until the job may start, by default hello.patience later.
    std::chrono::steady_clock::time_point connects_by =
        std::chrono::steady_clock::time_point::max();
    std::chrono::steady_clock::time_point joins_by = std::chrono::steady_clock::time_point::max();
    std::stop_token stop;       // of joining
    std::string host = {};      // put before its address in errors, with a blank
    bool is_at_rank = false;    // the host is rank 0, at a rendezvous
    io::SocketAddress at = {};  // where `address` is; not set: it is looked up
  };

  // Blocks until all ranks have come. `address` is "host:port".
  static Answer<std::unique_ptr<JobLink>> join(const std::string& address, const Hello& hello,
                                               const Limits& limits);
  ~JobLink();  // leaves
  JobLink(const JobLink&) = delete;
  JobLink& operator=(const JobLink&) = delete;

  const JobTerms& terms() const;
  const io::SocketAddress& host() const;  // as it was found
  // Blocks until `others` is requested: the other hosts have answered. A refusal may come first.
  Answer<void> stay(const std::stop_token& others);
  // Sends the ready report: this rank can receive packets. Blocks until all ranks can. After that
  // the terms have the groups in use.
  Answer<void> ready(const ReadyReport& report);
  // Calls the listener from another thread, at most once, and not after leave().
  void watch(EndListener on_end);
  // A function that tells the host a transfer, if the terms ask for that and this is rank 0. Else
  // it is empty. It may outlive the link, and does nothing after leave(). Any thread; never blocks.
  std::function<void(const CallNote&)> teller() const;
  // Leaves in good order: at once, but if this rank aggregates for others, when they leave, and in
  // 2.5 s at most. `abort`: why this rank's calls failed. The other ranks hear it.
  void leave(const std::optional<core::Abort>& abort = {});
  // In place of leave() while joining. The other ranks hear why this rank cannot join.
  void give_up(const Refusal& why);
  // Breaks off at once, also a call that another thread is in. Only the destructor may follow.
  void cut();

 private:
  class State;
  explicit JobLink(std::shared_ptr<State> state);
  std::shared_ptr<State> state_;  // also its stream's
};

}  // namespace infold::join
