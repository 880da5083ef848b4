// SPDX-License-Identifier: Apache-2.0
#include "rank/calls/launch/blocks.h"

namespace infold::rank {

Result<LaunchOutline> BlocksLaunch::begin(const CallRequest& request, const LaunchTerms& terms) {
  core::TransferRequest dense = tensor_transfer(request, terms);
  dense.output = static_cast<std::byte*>(request.output.data);  // even if it has no elements
  const bool stages = needs_staging(dense, request.options.keep_input);
  LaunchOutline outline = begin_sum({.dense = dense, .stages = stages}, terms);
  outline.input_survives = stages || !overwrites_input(dense);
  return outline;
}

}  // namespace infold::rank
