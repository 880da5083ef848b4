// SPDX-License-Identifier: Apache-2.0
//
// A call of a tensor that its caller has encoded. Its result stays encoded and goes to the output
// at once.
#pragma once

#include "codec/encoded_tensor.h"
#include "rank/calls/launch/launch.h"

namespace infold::rank {

class EncodedLaunch final : public Launch {
 public:
  Result<LaunchOutline> begin(const CallRequest& request, const LaunchTerms& terms) override;
  core::TransferRequest transfer(std::uint32_t, core::TransferId) override { return transfer_; }
  std::optional<Error> deliver() override { return std::nullopt; }
  void clear() override {}

 private:
  codec::EncodedTensor tensor_;
  core::TransferRequest transfer_;
};

}  // namespace infold::rank
