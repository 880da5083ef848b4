// SPDX-License-Identifier: Apache-2.0
//
// A call in parts of equal size, one for each rank. Each part takes one transfer, whose root is the
// part's rank. An all_gather broadcasts each rank's part; a reduce_scatter reduces each part to its
// rank.
#pragma once

#include "rank/calls/launch/launch.h"
#include "rank/calls/staging.h"

namespace infold::rank {

class PartsLaunch final : public Launch {
 public:
  explicit PartsLaunch(ScratchPool& pool) : staging_(pool) {}

  Result<LaunchOutline> begin(const CallRequest& request, const LaunchTerms& terms) override;
  core::TransferRequest transfer(std::uint32_t number, core::TransferId before) override;
  std::optional<Error> deliver() override;
  void clear() override { staging_.clear(); }

 private:
  CallRequest request_;
  LaunchTerms terms_;
  core::TransferRequest own_;  // the transfer of this rank's part; only its result may be staged
  Staging staging_;
};

}  // namespace infold::rank
