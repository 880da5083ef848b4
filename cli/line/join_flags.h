// SPDX-License-Identifier: Apache-2.0
//
// The options of every command that joins a job.
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

  // Joins; a stop request ends the join with an error. An error's message names options of the
  // command line. `wire`: of the calls, for which sites may set memory aside.
  Result<Communicator> join(const std::stop_token& stop,
                            WireFormat wire = WireFormat::automatic) const;
  // The same for changed options.
  static Result<Communicator> join(const JoinOptions& options);

 private:
  std::vector<std::string> switches_;
  std::string rendezvous_;
  std::string job_;
  std::optional<unsigned> rank_;
  std::optional<unsigned> world_;
  std::string sites_ = "auto";
  unsigned switch_weight_ = 1;
  unsigned worker_weight_ = 1;
  std::string address_;
  unsigned mtu_ = 0;
  double deadline_s_ = 10;
  bool no_offload_ = false;
  unsigned drivers_ = 0;
  std::string shared_memory_ = "auto";
};

// Returns the format that "native" and so on name, and `automatic` for other texts.
WireFormat wire_of(const std::string& name);
std::vector<std::string> wire_names();

}  // namespace infold::cli
