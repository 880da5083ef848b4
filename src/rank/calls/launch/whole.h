// SPDX-License-Identifier: Apache-2.0
//
// A call of one tensor in one transfer. It also makes barriers, which have no elements.
#pragma once

#include "rank/calls/launch/launch.h"
#include "rank/calls/staging.h"

namespace infold::rank {

class WholeLaunch final : public Launch {
 public:
  explicit WholeLaunch(ScratchPool& pool) : staging_(pool) {}

  Result<LaunchOutline> begin(const CallRequest& request, const LaunchTerms& terms) override;
  core::TransferRequest transfer(std::uint32_t, core::TransferId) override { return transfer_; }
  std::optional<Error> deliver() override;
  void clear() override { staging_.clear(); }

 private:
  core::TransferRequest transfer_;
  Staging staging_;
};

}  // namespace infold::rank
