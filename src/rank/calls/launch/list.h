// SPDX-License-Identifier: Apache-2.0
//
// A call of many tensors in place: one transfer for all small tensors, which lie side by side
// (fusion.h), and one transfer for each large tensor.
#pragma once

#include <cstddef>
#include <vector>

#include "rank/calls/fusion.h"
#include "rank/calls/launch/launch.h"
#include "rank/calls/staging.h"

namespace infold::rank {

class ListLaunch final : public Launch {
 public:
  explicit ListLaunch(ScratchPool& pool) : staging_(pool) {}

  Result<LaunchOutline> begin(const CallRequest& request, const LaunchTerms& terms) override;
  core::TransferRequest transfer(std::uint32_t number, core::TransferId before) override;
  std::optional<Error> deliver() override;
  void clear() override;

 private:
  struct Large {
    MutableTensorView tensor;
    std::size_t staged_at = 0;
  };

  core::TransferRequest blank_;
  bool stages_ = false;  // also stages the results of large tensors
  std::vector<Large> large_;
  Fusion fusion_;
  Staging staging_;
};

}  // namespace infold::rank
