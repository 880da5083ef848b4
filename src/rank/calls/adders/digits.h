// SPDX-License-Identifier: Apache-2.0
//
// A call whose tensors are summed exactly by aggregators that only add integers: a transfer of
// ranges, which gives the transfer of digits behind it its size. A short tensor needs the
// second one alone. A list is one tensor, side by side in memory of the pool. Of a reduce_scatter
// each rank makes floats of its own part alone.
#pragma once

#include "codec/digits.h"
#include "rank/calls/fusion.h"
#include "rank/calls/launch/launch.h"
#include "rank/calls/staging.h"

namespace infold::rank {

class DigitsLaunch final : public Launch {
 public:
  explicit DigitsLaunch(ScratchPool& pool) : result_(pool), sums_(pool) {}

  // Whether the request has elements, as this launch requires.
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

  codec::Digits digits_;
  Fusion fusion_;   // of a list
  Staging result_;  // where it does not go to the output at once
  Staging sums_;    // of groups that are not complete
};

}  // namespace infold::rank
