// SPDX-License-Identifier: Apache-2.0
//
// Sums of floats have a choice of formats; all else travels as integers of the element's width.
#include "codec/format_choice.h"

#include <string>
#include <utility>

#include "numeric/codec.h"

namespace infold::codec {
namespace {

WireFormat automatic_wire(DataType type) {
  return type == DataType::f16 || type == DataType::bf16 ? WireFormat::bfp16 : WireFormat::bfp32;
}

core::WireFormat block_format(WireFormat wire) {
  switch (wire) {
    case WireFormat::bfp8: return core::WireFormat::bfp8;
    case WireFormat::bfp16: return core::WireFormat::bfp16;
    default: return core::WireFormat::bfp32;
  }
}

tl::unexpected<Error> refuse(Code code, std::string message) {
  return tl::unexpected(Error{code, std::move(message), -1, ""});
}

FormatChoice choose_float_sum(const FormatRequest& request, FormatChoice choice) {
  WireFormat wire = request.wire;
  if (wire == WireFormat::automatic) wire = request.wire_default;
  if (wire == WireFormat::automatic) wire = automatic_wire(request.type);
  if (wire == WireFormat::fixed32) {
    choice.agreed = true;
    choice.layout = {core::WireFormat::i32, request.type};
    choice.codec = numeric::agreed_codec(request.type, choice.reduction, request.world);
  } else {
    choice.layout = {block_format(wire), request.type};
    choice.codec =
        numeric::codec(request.type, choice.layout.format, choice.reduction, request.collective);
  }
  return choice;
}

}  // namespace

Result<FormatChoice> choose_format(const FormatRequest& request) {
  const bool reduces = request.collective == core::Collective::all_reduce ||
                       request.collective == core::Collective::reduce;
  if (element_bytes(request.type) == 0) {
    return refuse(Code::invalid_argument, "the tensor's type is not a DataType");
  }
  if (request.reduction > Reduction::bit_or) {
    return refuse(Code::invalid_argument, "the reduction is not a Reduction");
  }
  if (request.wire > WireFormat::fixed32) {
    return refuse(Code::invalid_argument, "the wire format is not a WireFormat");
  }

  FormatChoice choice;
  choice.reduction = reduces ? request.reduction : Reduction::sum;
  const bool sums = request.reduction == Reduction::sum || request.reduction == Reduction::average;
  if (reduces && sums && core::is_float(request.type)) {
    choice = choose_float_sum(request, choice);
  } else {
    if (request.wire != WireFormat::automatic) {
      return refuse(Code::unsupported,
                    std::string("wire format ") + wire_format_name(request.wire) +
                        " is for sums and averages of floats; leave it automatic here, the "
                        "elements travel exactly as they are");
    }
    choice.layout = {core::integer_format(request.type), request.type};
    choice.codec =
        numeric::codec(request.type, choice.layout.format, choice.reduction, request.collective);
  }
  if (choice.codec == nullptr) {
    return refuse(Code::unsupported, std::string("no wire format carries the ") +
                                         reduction_name(request.reduction) + " of " +
                                         data_type_name(request.type) + " over " +
                                         std::to_string(request.world) + " ranks in this way");
  }
  return choice;
}

}  // namespace infold::codec
