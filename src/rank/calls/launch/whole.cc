// SPDX-License-Identifier: Apache-2.0
#include "rank/calls/launch/whole.h"

namespace infold::rank {

Result<LaunchOutline> WholeLaunch::begin(const CallRequest& request, const LaunchTerms& terms) {
  transfer_ = tensor_transfer(request, terms);
  LaunchOutline outline;
  outline.elements = transfer_.elements;
  outline.input_survives = staging_.stage(transfer_, request.options.keep_input);
  return outline;
}

std::optional<Error> WholeLaunch::deliver() {
  staging_.deliver();
  return std::nullopt;
}

}  // namespace infold::rank
