// SPDX-License-Identifier: Apache-2.0
//
// Searches the records of encodings. This file has no rule about any particular encoding.
#include "encoding/format_choice.h"

#include <string>
#include <utility>

#include "core/world.h"
#include "encoding/digits.h"
#include "encoding/wire_formats.h"
#include "numeric/codec.h"

namespace infold::encoding {
namespace {

tl::unexpected<Error> refuse(Code code, std::string message) {
  return tl::unexpected(Error{code, std::move(message), -1, ""});
}

bool reduces(const FormatRequest& request) {
  return request.collective == core::Collective::all_reduce ||
         request.collective == core::Collective::reduce;
}

bool carries(const Encoding& encoding, const FormatRequest& request) {
  if (!encoding.types.has(request.type)) return false;
  return reduces(request) ? encoding.reductions.has(request.reduction) : encoding.copies;
}

bool is_summed(const Encoding& encoding, const FormatRequest& request) {
  const core::ElementLayout layout = {encoding.format_of(request.type), request.type};
  return !layout.is_native() || request.native.has(request.type);
}

// Returns the encoding that the call names, or the communicator's, or the first of the type's
// defaults that all sites can sum. The communicator's encoding is ignored for calls that it cannot
// carry. Returns null if the call names an encoding that cannot carry it.
const Encoding* encoding_of(const FormatRequest& request) {
  if (const Encoding* own = find_encoding(request.wire)) {
    return carries(*own, request) ? own : nullptr;
  }
  const Encoding* const usual = find_encoding(request.wire_default);
  if (usual != nullptr && carries(*usual, request)) return usual;
  for (const Encoding& each : encodings()) {
    if (each.default_of.has(request.type) && carries(each, request) && is_summed(each, request)) {
      return &each;
    }
  }
  return nullptr;
}

const core::TensorCodec* codec_of(const Encoding& encoding, const FormatChoice& choice,
                                  const FormatRequest& request) {
  switch (encoding.exchange) {
    case Exchange::exponents:
      return numeric::agreed_codec(request.type, choice.reduction, request.world);
    case Exchange::digits: return Digits::codec(request.world);
    case Exchange::none: break;
  }
  return numeric::codec(request.type, choice.layout.format, choice.reduction, request.collective);
}

// The largest world over which the encoding can hold the sums.
std::uint32_t world_max_of(const Encoding& encoding) {
  switch (encoding.exchange) {
    case Exchange::exponents: return numeric::kAgreedWorldMax;
    case Exchange::digits: return numeric::kDigitWorldMax;
    case Exchange::none: break;
  }
  return core::kWorldMax;
}

std::string lack_of_codec(const Encoding& encoding, const FormatRequest& request) {
  const std::string what =
      std::string(reduction_name(request.reduction)) + " of " + data_type_name(request.type);
  const std::uint32_t most = world_max_of(encoding);
  if (request.world <= most) return "no wire format carries the " + what;
  return std::string("wire format ") + encoding.name + " does not carry the " + what + " over " +
         std::to_string(request.world) + " ranks, but over " + std::to_string(most) +
         " at most; choose native or bfp32";
}

}  // namespace

Result<FormatChoice> choose_format(const FormatRequest& request) {
  if (element_bytes(request.type) == 0) {
    return refuse(Code::invalid_argument, "the tensor's type is not a DataType");
  }
  if (request.reduction > Reduction::bit_or) {
    return refuse(Code::invalid_argument, "the reduction is not a Reduction");
  }
  if (request.wire != WireFormat::automatic && find_encoding(request.wire) == nullptr) {
    return refuse(Code::invalid_argument, "the wire format is not a WireFormat");
  }
  const Encoding* const encoding = encoding_of(request);
  if (encoding == nullptr) {
    return refuse(Code::unsupported, std::string("wire format ") + wire_format_name(request.wire) +
                                         " is for sums and averages of floats; leave it automatic "
                                         "here, the elements travel exactly as they are");
  }

  FormatChoice choice;
  choice.reduction = reduces(request) ? request.reduction : Reduction::sum;
  choice.layout = {encoding->format_of(request.type), request.type};
  choice.exchange = encoding->exchange;
  choice.name = encoding->name;
  choice.codec = codec_of(*encoding, choice, request);
  if (choice.codec == nullptr) {
    return refuse(Code::unsupported, lack_of_codec(*encoding, request));
  }
  return choice;
}

}  // namespace infold::encoding
