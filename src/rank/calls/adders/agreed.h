// SPDX-License-Identifier: Apache-2.0
//
// A call of one tensor whose exponents the ranks agree on first (fixed32). One transfer finds the
// maximum of the exponent codes; the tensor's transfer follows it. A chunk of the tensor waits only
// for its own codes, not for all of them.
#pragma once

#include "encoding/agreement.h"
#include "rank/calls/launch/launch.h"
#include "rank/calls/launch/whole.h"

namespace infold::rank {

class AgreedLaunch final : public Launch {
 public:
  explicit AgreedLaunch(ScratchPool& pool) : whole_(pool) {}

  // Requires: the tensor has elements.
  Result<LaunchOutline> begin(const CallRequest& request, const LaunchTerms& terms) override;
  core::TransferRequest transfer(std::uint32_t number, core::TransferId before) override;
  std::optional<Error> deliver() override { return whole_.deliver(); }
  void clear() override { whole_.clear(); }

 private:
  WholeLaunch whole_;
  encoding::Agreement agreement_;
  core::TransferRequest codes_;  // the transfer that goes first
};

}  // namespace infold::rank
