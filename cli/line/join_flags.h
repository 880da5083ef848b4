// SPDX-License-Identifier: Apache-2.0
//
// The options that every command which joins a job has.
#pragma once

#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include <infold/communicator.h>
#include <infold/join_options.h>

#include "cli/line/options.h"

namespace infold::cli {

class JoinFlags {
 public:
  void declare(Options& options);
  JoinOptions join_options() const;

  // Returns the options with what the environment adds. An error is one of usage: it names the
  // option or the variable that is missing or wrong.
  Result<JoinOptions> complete() const;
  // Joins the job. A stop request ends the join with an error, whose message names options of the
  // command line. `wire` is the format of the calls, because sites may set memory aside for it.
  Result<Communicator> join(const std::stop_token& stop,
                            WireFormat wire = WireFormat::automatic) const;
  // Does the same with changed options.
  static Result<Communicator> join(const JoinOptions& options);

 private:
  std::vector<std::string> switches_;
  mutable bool has_warned_ = false;
  std::string rendezvous_;
  std::string job_;
  std::optional<unsigned> rank_;
  std::optional<unsigned> world_;
  std::string sites_ = "auto";
  unsigned switch_weight_ = 1;
  unsigned worker_weight_ = 1;
  std::function<bool()> has_switch_weight_;
  std::function<bool()> has_worker_weight_;
  std::string address_;
  unsigned mtu_ = 0;
  double deadline_s_ = 10;
  bool no_offload_ = false;
  unsigned drivers_ = 0;
  std::string shared_memory_ = "auto";
};

// Returns the format with a name such as "native", or `automatic` for any other text.
WireFormat wire_of(const std::string& name);
std::vector<std::string> wire_names();

}  // namespace infold::cli
