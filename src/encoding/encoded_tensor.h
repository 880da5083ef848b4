// SPDX-License-Identifier: Apache-2.0
//
// Transfers a tensor that its caller has already encoded; the result stays encoded as well. Codes
// and mantissas are copied, and made coarser if an aggregator asks for that. An
// EncodedTensor is not thread-safe and must not move while its transfer is in flight.
#pragma once

#include <optional>
#include <string>

#include <infold/encoded.h>

#include "core/format.h"
#include "core/tensor_codec.h"

namespace infold::encoding {

// Returns the layout of elements in packets, or nothing if the view's wire format and type do not
// go together.
std::optional<core::ElementLayout> layout_of(const EncodedView& encoded);

// Returns what is wrong with a view, or an empty text.
std::string problem_of(const EncodedView& encoded);

class EncodedTensor {
 public:
  // Requires: problem_of() finds nothing wrong with the views, and both have the same formats and
  // size.
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

}  // namespace infold::encoding
