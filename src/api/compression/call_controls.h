// SPDX-License-Identifier: Apache-2.0
//
// The controllers of a Compression: one for each list of parameters. What they remember changes
// with learn() alone, at the end of a call that went well.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <infold/compression.h>

#include "api/compression/parameter_list.h"
#include "codec/control/steering.h"

namespace infold {

// Of one list.
struct CallControl {
  codec::Controller controller;
  // This rank's times of the last call, which the next call tells the other ranks.
  std::optional<codec::CallTimes> last = {};
  std::string first_parameter = {};
  std::size_t parameters = 0;

  void learn(const std::optional<codec::CallTimes>& agreed, const codec::CallTimes& own) {
    controller.learn(agreed);
    last = own;
  }
  // A hash of what all ranks must know alike.
  std::string text() const;
};

class CallControls {
 public:
  static constexpr const char* kStateName = "control of calls";

  explicit CallControls(codec::Steering steering) : steering_(std::move(steering)) {}

  const codec::Steering& steering() const { return steering_; }
  // The list's control, which its first call makes, from a state if one was loaded. Stays where it
  // is.
  CallControl& find(const ParameterList& list, std::uint32_t world);

  std::vector<CompressionState::Entry> state() const;
  void clear();
  // Of an entry with kStateName. False: it is no state of these controls.
  bool load(const CompressionState::Entry& entry);
  std::vector<ControlledCall> calls() const;

 private:
  codec::Steering steering_;
  std::map<std::uint64_t, CallControl> controls_;  // by the hash of the list
  std::map<std::uint64_t, CompressionState::Entry> loaded_;
};

}  // namespace infold
