// SPDX-License-Identifier: Apache-2.0
//
// A rank's connection to one join server: a switch, its rack's switch, or rank 0. It joins a job
// there, hears of the job's end, and leaves. Call join(), then stay(), ready() and watch().
//
// join() and ready() block, but at most until the deadline of joining, whatever the host does.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>

#include "io/address/socket_address.h"
#include "join/registrar.h"
#include "keys/certificate.h"

namespace infold::join {

class JobLink {
 public:
  // Hears of the end of the job, or that the connection to the host has broken.
  using EndListener = std::function<void(const JobEnd&)>;

  struct Limits {
    // The host must have answered by the first time, and the job must be able to start by the
    // second, which is hello.patience from now by default.
    std::chrono::steady_clock::time_point connects_by =
        std::chrono::steady_clock::time_point::max();
    std::chrono::steady_clock::time_point joins_by = std::chrono::steady_clock::time_point::max();
    std::stop_token stop;       // stops joining
    std::string host = {};      // precedes the address in errors, with a space at the end
    bool is_at_rank = false;    // the host is rank 0, at a rendezvous
    io::SocketAddress at = {};  // the address of the host; unset: `address` is looked up
    // With a fingerprint, the link speaks TLS, and only with a host that has this certificate.
    std::optional<keys::Fingerprint> fingerprint = {};
  };

  // Blocks until all ranks have come. `address` is "host:port".
  static Answer<std::unique_ptr<JobLink>> join(const std::string& address, const Hello& hello,
                                               const Limits& limits);
  ~JobLink();  // leaves
  JobLink(const JobLink&) = delete;
  JobLink& operator=(const JobLink&) = delete;

  const JobTerms& terms() const;
  const io::SocketAddress& host() const;  // the host's address, as it was found
  // Blocks until `others` is requested, which means that the other hosts have answered. A refusal
  // may come first.
  Answer<void> stay(const std::stop_token& others);
  // Sends the ready report, which says that this rank can receive packets. Blocks until all ranks
  // can. After that, terms() has the groups in use.
  Answer<void> ready(const ReadyReport& report);
  // Calls the listener from another thread, at most once, and not after leave().
  void watch(EndListener on_end);
  // Returns a function that reports a transfer to the host, if the terms ask for that and this is
  // rank 0. Otherwise the function is empty. It may outlive the link, and does nothing after
  // leave(). Any thread may call it, and it never blocks.
  std::function<void(const CallNote&)> teller() const;
  // Leaves in good order. This takes effect at once, unless this rank aggregates for others: then
  // it waits until they leave, for at most 2.5 s. `abort` says why this rank's calls failed, and
  // the other ranks hear it.
  void leave(const std::optional<core::Abort>& abort = {});
  // Call it instead of leave() while joining. The other ranks hear why this rank cannot join.
  void give_up(const Refusal& why);
  // Breaks off at once, and also ends a call that another thread is in. Only the destructor may
  // follow.
  void cut();

 private:
  class State;
  explicit JobLink(std::shared_ptr<State> state);
  std::shared_ptr<State> state_;  // shared with its stream
};

}  // namespace infold::join
