// SPDX-License-Identifier: Apache-2.0
//
// A sparse call whose tensor lies in memory as a whole.
#pragma once

#include "rank/calls/launch/sparse.h"

namespace infold::rank {

class BlocksLaunch final : public SparseLaunch {
 public:
  explicit BlocksLaunch(ScratchPool& pool) : SparseLaunch(pool) {}

  Result<LaunchOutline> begin(const CallRequest& request, const LaunchTerms& terms) override;
};

}  // namespace infold::rank
