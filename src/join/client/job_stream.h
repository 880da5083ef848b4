// SPDX-License-Identifier: Apache-2.0
//
// A rank's stream to the host that it joins at, over a channel that other ranks may use as well.
// Every call returns at once. gRPC's threads call the listener, and only with values that were
// checked (answer_reader.h). The last call of the listener comes when the stream no longer uses the
// channel.
//
// The deadline of joining is the rank's own, so it is kept here, on a steady clock.
#pragma once

#include <chrono>
#include <memory>
#include <string>

#include "join/rank_listener.h"
#include "join/registrar.h"

namespace grpc {
class Channel;
}

namespace infold::join {

// Returns a channel that connects when it is needed, and again if necessary. A rack's switch uses
// it for all of its ranks.
std::shared_ptr<grpc::Channel> channel_to(const std::string& address);
// Returns a channel over an existing connection, which it owns. The channel ends with the
// connection.
std::shared_ptr<grpc::Channel> channel_over(int connected_socket);

// Returns the refusal for a host that does not answer. `question` says where people should look
// first.
Refusal no_answer(const std::string& host, const std::string& question, double seconds);

class JobStream final : public RankLink {
 public:
  struct Options {
    Hello hello;
    std::string host;  // for errors: "10.0.0.1:7700", "the switch's parent 10.0.0.1:7700"
    std::string question =
        "is `infold switch` or `infold emulate` running there";  // see no_answer()
    // The host must have answered by the first time, and the job must be able to start by the
    // second.
    std::chrono::steady_clock::time_point connects_by{};
    std::chrono::steady_clock::time_point joins_by{};
  };

  // The channel's last owner must not be one of gRPC's threads.
  static std::unique_ptr<JobStream> open(const std::shared_ptr<grpc::Channel>& channel,
                                         const Options& options,
                                         std::shared_ptr<RankListener> listener);
  ~JobStream() override;  // cuts the stream; the listener's last call may still come
  JobStream(const JobStream&) = delete;
  JobStream& operator=(const JobStream&) = delete;

  // Call it once, after all_here().
  void ready(const ReadyReport& report) override;
  // The host has 2.5 s to close the stream, or 0.4 s before all_ready(); then the stream is cut.
  // Only the first call counts.
  void leave(const Parting& parting) override;
  void tell(const CallNote& note) override;
  // Breaks the stream off at once.
  void cut();

 private:
  class Call;
  class State;
  explicit JobStream(std::shared_ptr<State> state);
  std::shared_ptr<State> state_;
};

}  // namespace infold::join
