// SPDX-License-Identifier: Apache-2.0
//
// What a caller asks of one rank, and a check of everything that can be wrong without hearing from
// another rank. Pure functions.
#pragma once

#include <cstddef>
#include <optional>
#include <span>

#include <infold/encoded.h>
#include <infold/options.h>
#include <infold/result.h>
#include <infold/rows.h>
#include <infold/tensor.h>

#include "core/format.h"

namespace infold::rank {

struct CallRequest {
  core::Collective collective = core::Collective::barrier;
  TensorView input;          // on every rank, also for a broadcast
  MutableTensorView output;  // used if the rank gets a result
  int root = 0;
  CallOptions options;
  // The call takes one transfer for each rank, which is its root, over parts of equal size. An
  // all_gather broadcasts each rank's part, and a reduce_scatter reduces each part to its rank.
  bool in_parts = false;
  // An all_reduce over many tensors in place uses this list instead of input and output. All have
  // one type.
  std::span<const MutableTensorView> list = {};
  bool is_list = false;
  // An all_reduce over rows uses these instead of the input's memory. The input's type and size are
  // then those of the whole tensor.
  std::optional<RowsView> rows = {};
  Rows* output_rows = nullptr;  // used instead of the output
  // An all_reduce of an encoded tensor uses these instead of the input's and the output's memory.
  std::optional<EncodedView> encoded = {};
  MutableEncodedView encoded_output = {};
};

// Returns nothing if the request is sound. The message omits the call's name.
std::optional<Error> check_request(const CallRequest& request, int rank, int world);

// For a sound request in parts: the transfer whose root is `root`, as `rank` makes it.
CallRequest part_of(const CallRequest& request, int root, int rank);

// Whether two memory ranges overlap.
bool overlap(const void* a, std::size_t a_bytes, const void* b, std::size_t b_bytes);

}  // namespace infold::rank
