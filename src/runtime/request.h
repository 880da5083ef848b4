// SPDX-License-Identifier: Apache-2.0
//
// What a caller asks of one rank, and whether that can be asked at all: everything that can be
// found wrong without hearing from another rank. Pure.
#pragma once

#include <optional>

#include <infold/options.h>
#include <infold/result.h>
#include <infold/tensor.h>

#include "core/format.h"

namespace infold::runtime {

struct CallRequest {
  core::Collective collective = core::Collective::barrier;
  TensorView input;          // of a broadcast too, on every rank
  MutableTensorView output;  // used where the rank gets a result
  int root = 0;
  CallOptions options;
};

// Nothing if the request is sound; the message is without the call's name.
std::optional<Error> check_request(const CallRequest& request, int rank, int world);

}  // namespace infold::runtime
