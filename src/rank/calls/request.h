// SPDX-License-Identifier: Apache-2.0
//
// What a caller asks of one rank, and whether that can be asked at all: everything that can be
// found wrong without hearing from another rank. Pure.
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
  TensorView input;          // of a broadcast too, on every rank
  MutableTensorView output;  // used where the rank gets a result
  int root = 0;
  CallOptions options;
  // One transfer for each rank, with that rank as root, over parts of equal size: broadcasts of
  // each rank's part are an all_gather, reductions to each rank a reduce_scatter.
  bool in_parts = false;
  // Of an all_reduce over many tensors in place, instead of input and output; all of one type.
  std::span<const MutableTensorView> list = {};
  bool is_list = false;
  // Of an all_reduce over rows, instead of the input's memory; the input's type and size are those
  // of the whole tensor.
  std::optional<RowsView> rows = {};
  Rows* output_rows = nullptr;  // instead of the output
  // Of an all_reduce of an encoded tensor, instead of the input's and the output's memory.
  std::optional<EncodedView> encoded = {};
  MutableEncodedView encoded_output = {};
};

// Nothing if the request is sound; the message is without the call's name.
std::optional<Error> check_request(const CallRequest& request, int rank, int world);

// The transfer of a sound request in parts that has this rank as root.
CallRequest part_of(const CallRequest& request, int root, int rank);

// Two tensors of equal length.
bool overlap(const void* a, std::size_t a_bytes, const void* b, std::size_t b_bytes);

}  // namespace infold::rank
