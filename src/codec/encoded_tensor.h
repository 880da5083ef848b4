// SPDX-License-Identifier: Apache-2.0
//
// The transfer of a tensor that its caller has encoded, to memory for a result that stays encoded.
// Codes and mantissas are copied, and made coarser where an aggregator asks for that. Not
// thread-safe. Stays where it is while its transfer is in flight.
#pragma once

#include <optional>
#include <string>

#include <infold/encoded.h>

#include "core/format.h"
#include "core/tensor_codec.h"

namespace infold::codec {

// The layout of elements in packets; empty if the view's formats do not go together.
std::optional<core::ElementLayout> layout_of(const EncodedView& encoded);

// What is wrong with a view, or an empty text.
std::string problem_of(const EncodedView& encoded);

class EncodedTensor {
 public:
  // Requires: both views are sound and of equal formats and size.
  void begin(const EncodedView& input, const MutableEncodedView& output);
  static const core::TensorCodec* codec();

 private:
  static bool encode(const void* context, const std::byte*, core::ChunkRange range,
                     const std::uint16_t* codes, std::byte* exponents, std::byte* elements);
  static void decode(void* context, std::byte*, core::ChunkRange range,
                     const core::TensorCodec::Received& received);

  EncodedView input_;
  MutableEncodedView output_;
  core::ElementLayout layout_;
};

}  // namespace infold::codec
