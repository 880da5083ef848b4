// SPDX-License-Identifier: Apache-2.0
//
// A call of a tensor that its caller has encoded. The result stays encoded and goes directly to the
// output.
#pragma once

#include "encoding/encoded_tensor.h"
#include "rank/calls/launch/launch.h"

namespace infold::rank {

class EncodedLaunch final : public Launch {
 public:
  Result<LaunchOutline> begin(const CallRequest& request, const LaunchTerms& terms) override;
  core::TransferRequest transfer(std::uint32_t, core::TransferId) override { return transfer_; }
  std::optional<Error> deliver() override { return std::nullopt; }
  void clear() override {}

 private:
  encoding::EncodedTensor tensor_;
  core::TransferRequest transfer_;
};

}  // namespace infold::rank
