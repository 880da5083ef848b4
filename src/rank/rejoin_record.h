// SPDX-License-Identifier: Apache-2.0
//
// The request of a call, which Rejoiner keeps in each Call so that the call can be made again. Only
// Rejoiner changes it, when the call begins. A reused Call object keeps the list's memory.
#pragma once

#include <vector>

#include "rank/calls/request.h"

namespace infold::rank {

class RejoinRecord {
 public:
  RejoinRecord() = default;
  RejoinRecord(const RejoinRecord&) = delete;
  RejoinRecord& operator=(const RejoinRecord&) = delete;

  // Valid while the call is in flight.
  const CallRequest& request() const { return request_; }

 private:
  friend class Rejoiner;

  CallRequest request_;
  std::vector<MutableTensorView> list_;  // copied, because the caller may have dropped its own
};

}  // namespace infold::rank
