// SPDX-License-Identifier: Apache-2.0
//
// Decides how a call's elements travel. For each combination of collective, data type, reduction
// and wire format, it finds the element layout and the codec, or the reason why there are none. It
// is a pure function.
#pragma once

#include <cstdint>

#include <infold/options.h>
#include <infold/result.h>
#include <infold/tensor.h>

#include "core/format.h"
#include "core/site_record.h"
#include "core/tensor_codec.h"
#include "encoding/wire_formats.h"

namespace infold::encoding {

struct FormatRequest {
  core::Collective collective = core::Collective::all_reduce;
  DataType type = DataType::f32;
  Reduction reduction = Reduction::sum;
  WireFormat wire = WireFormat::automatic;          // named by the call
  WireFormat wire_default = WireFormat::automatic;  // named by the communicator
  std::uint32_t world = 1;
  // Types of floats that all sites of the job can sum in the native format.
  core::FloatTypes native = core::FloatTypes::all();
};

struct FormatChoice {
  core::ElementLayout layout;
  Reduction reduction = Reduction::sum;
  const core::TensorCodec* codec = nullptr;
  Exchange exchange = Exchange::none;
  const char* name = "";  // the encoding's name
};

// An error's message does not name the call.
Result<FormatChoice> choose_format(const FormatRequest& request);

}  // namespace infold::encoding
