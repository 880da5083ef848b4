// SPDX-License-Identifier: Apache-2.0
//
// A rank's connection to the host that it joins at. A loop serves it, which other ranks may use as
// well. Every call returns at once. A listener is called from the loop's thread, and only with
// values that were checked (answer_reader.h). Its last call comes when the connection is closed.
//
// The deadline of joining is the rank's own and is kept here.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>

#include "base/instant.h"
#include "io/address/socket_address.h"
#include "io/host/file_descriptor.h"
#include "join/connection/connection_loop.h"
#include "join/rank_listener.h"
#include "join/registrar.h"
#include "keys/certificate.h"

namespace infold::join {

// The refusal for a host that does not answer. `question`: where people are to look first.
Refusal no_answer(const std::string& host, const std::string& question, double seconds);

// The time on the clock of conversations. time_point::max() is never.
base::Instant instant_of(std::chrono::steady_clock::time_point at);

class JobStream final : public RankLink {
 public:
  struct Options {
    Hello hello;
    std::string host;  // for errors: "10.0.0.1:7700", "the switch's parent 10.0.0.1:7700"
    std::string question =
        "is `infold switch` or `infold emulate` running there";  // see no_answer()
    // With a fingerprint, the stream speaks TLS, and only with a host that has this certificate.
    std::optional<keys::Fingerprint> fingerprint = {};
    // Until the host answers anything, and until the job may start.
    std::chrono::steady_clock::time_point connects_by{};
    std::chrono::steady_clock::time_point joins_by{};
  };

  // The first uses a connection that exists. The second lets the loop connect by connects_by.
  static std::unique_ptr<JobStream> open(ConnectionLoop& loop, io::FileDescriptor connected,
                                         const Options& options,
                                         std::shared_ptr<RankListener> listener);
  static std::unique_ptr<JobStream> open(ConnectionLoop& loop, const io::SocketAddress& there,
                                         const Options& options,
                                         std::shared_ptr<RankListener> listener);
  ~JobStream() override;  // cuts; the listener's last call may still come
  JobStream(const JobStream&) = delete;
  JobStream& operator=(const JobStream&) = delete;

  // Call it once, after all_here().
  void ready(const ReadyReport& report) override;
  // The host has 2.5 s to close the stream, 0.4 s before all_ready(); then it is cut. The first
  // call counts.
  void leave(const Parting& parting) override;
  void tell(const CallNote& note) override;
  // Breaks the stream off at once.
  void cut();

 private:
  class State;
  explicit JobStream(std::shared_ptr<State> state);
  template <typename There>
  static std::unique_ptr<JobStream> open_at(ConnectionLoop& loop, There&& there,
                                            const Options& options,
                                            std::shared_ptr<RankListener> listener);
  std::shared_ptr<State> state_;
};

}  // namespace infold::join
