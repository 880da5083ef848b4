// SPDX-License-Identifier: Apache-2.0
#include "rank/calls/launch/encoded.h"

namespace infold::rank {

Result<LaunchOutline> EncodedLaunch::begin(const CallRequest& request, const LaunchTerms& terms) {
  tensor_.begin(*request.encoded, request.encoded_output);
  transfer_ = blank_transfer(request, terms);
  transfer_.elements = request.input.elements;
  transfer_.codec = encoding::EncodedTensor::codec();
  transfer_.context = &tensor_;
  LaunchOutline outline;
  outline.elements = transfer_.elements;
  return outline;
}

}  // namespace infold::rank
