// SPDX-License-Identifier: Apache-2.0
//
// The steerers of a Compression, one for each list of parameters. Only learn() changes what they
// remember, at the end of a call that succeeded.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <infold/compression.h>

#include "api/compression/parameter_list.h"
#include "compress/steering/steering.h"

namespace infold {

// The steerer of one list of parameters, with the state that belongs to it.
struct SteeredList {
  compress::Steerer steerer;
  // This rank's times of the last call. The next call sends them to the other ranks.
  std::optional<compress::CallTimes> last = {};
  std::optional<base::Instant> started = {};  // when the present call began
  std::string first_parameter = {};
  std::size_t parameters = 0;

  // Call it when a call begins, even if it repeats a failed call.
  void note_start(base::Instant now) {
    if (last && started) last->period = compress::call_seconds((now - *started).ns);
    started = now;
  }
  void learn(const std::optional<compress::CallTimes>& agreed, const compress::CallTimes& own) {
    steerer.learn(agreed);
    last = own;
  }
  // A hash of what must be equal at all ranks.
  std::string text() const;
};

class SteeredLists {
 public:
  static constexpr const char* kStateName = "steering of calls";

  explicit SteeredLists(compress::Steering steering) : steering_(std::move(steering)) {}

  const compress::Steering& steering() const { return steering_; }
  // The steerer of the list. The list's first call makes it, from the loaded state if there is one.
  // The reference stays valid until clear().
  SteeredList& find(const ParameterList& list, std::uint32_t world);

  std::vector<CompressionState::Entry> state() const;
  void clear();
  // Takes an entry named kStateName. Returns false if it is not a state of these lists.
  bool load(const CompressionState::Entry& entry);
  std::vector<SteeredCall> calls() const;

 private:
  compress::Steering steering_;
  std::map<std::uint64_t, SteeredList> lists_;  // by the hash of the list
  std::map<std::uint64_t, CompressionState::Entry> loaded_;
};

}  // namespace infold
