// SPDX-License-Identifier: Apache-2.0
//
// A call whose tensors are summed exactly by aggregators that can only add integers. A transfer of
// ranges determines the size of the transfer of digits that follows it. A short tensor
// needs only the second transfer. The tensors of a list lie side by side in the pool's memory and
// are summed as one. In a reduce_scatter, each rank converts only its own part to floats.
#pragma once

#include "encoding/digits.h"
#include "rank/calls/fusion.h"
#include "rank/calls/launch/launch.h"
#include "rank/calls/staging.h"

namespace infold::rank {

class DigitsLaunch final : public Launch {
 public:
  explicit DigitsLaunch(ScratchPool& pool) : result_(pool), sums_(pool) {}

  // Whether the request has elements, which this launch requires.
  static bool has_elements(const CallRequest& request);

  Result<LaunchOutline> begin(const CallRequest& request, const LaunchTerms& terms) override;
  core::TransferRequest transfer(std::uint32_t number, core::TransferId before) override;
  Size size_after(std::uint32_t number, base::Instant now) override;
  std::optional<Error> deliver() override;
  void clear() override;

 private:
  core::TransferRequest list_transfer(const CallRequest& request, const LaunchTerms& terms);
  static core::TransferRequest parts_transfer(const CallRequest& request, const LaunchTerms& terms,
                                              std::byte* output);

  encoding::Digits digits_;
  Fusion fusion_;   // places the tensors of a list
  Staging result_;  // used unless the result goes directly to the output
  Staging sums_;    // integer sums of groups that are not complete
};

}  // namespace infold::rank
