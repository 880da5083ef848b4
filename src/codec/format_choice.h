// SPDX-License-Identifier: Apache-2.0
//
// From what a caller asks for to how it travels: element layout and codec for each pairing of
// collective, data type, reduction and wire format, or the reason why there is none. Pure.
#pragma once

#include <cstdint>

#include <infold/options.h>
#include <infold/result.h>
#include <infold/tensor.h>

#include "codec/encodings.h"
#include "core/format.h"
#include "core/site_record.h"
#include "core/tensor_codec.h"

namespace infold::codec {

struct FormatRequest {
  core::Collective collective = core::Collective::all_reduce;
  DataType type = DataType::f32;
  Reduction reduction = Reduction::sum;
  WireFormat wire = WireFormat::automatic;          // of the call
  WireFormat wire_default = WireFormat::automatic;  // of the communicator
  std::uint32_t world = 1;
  // Floats that all sites of the job sum as they are.
  core::FloatTypes native = core::FloatTypes::all();
};

struct FormatChoice {
  core::ElementLayout layout;
  Reduction reduction = Reduction::sum;
  const core::TensorCodec* codec = nullptr;
  Exchange exchange = Exchange::none;
  const char* name = "";  // of the encoding
};

// Errors have a message without the call's name.
Result<FormatChoice> choose_format(const FormatRequest& request);

}  // namespace infold::codec
