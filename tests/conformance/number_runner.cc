// SPDX-License-Identifier: Apache-2.0
//
// Converts tensors to the wire format and back, with every set of kernels that this processor can
// run. All must give the bits that the vector has.
#include "tests/conformance/number_runner.h"

#include <algorithm>

#include "numeric/codec.h"
#include "tests/conformance/digits_runner.h"
#include "tests/conformance/text/tensor_text.h"

namespace infold::conformance {
namespace {

// The words of an encode or decode line before its tensor.
struct Request {
  Signature signature;
  std::vector<std::string> values;   // values of a tensor
  std::vector<std::int64_t> codes;   // exponent codes on the wire
  std::vector<std::uint16_t> given;  // floors of a realign, or agreed codes
  std::vector<std::int64_t> mantissas;
  bool specials = false;
  std::int64_t divisor = 1;
  std::int64_t agreed_world = 0;  // 0: not with agreed exponents
};

void read_type(Cursor& cursor, Request& request) {
  PacketText packet;
  Step step{"", {cursor.take_word()}};
  Cursor one(step);
  read_fields(one, packet);
  request.signature.dtype = packet.signature.dtype;
  request.signature.format = packet.signature.format;
}

Request read_request(Cursor& cursor, bool decoding) {
  Request request;
  read_type(cursor, request);
  while (!cursor.done() && cursor.peek() != "expect") {
    if (cursor.peek() == "[") {
      if (decoding) {
        request.mantissas = cursor.take_numbers();
      } else {
        request.values = cursor.take_list();
      }
      continue;
    }
    const std::string word = cursor.take_word();
    if (const auto reduction = reduction_named(word)) {
      request.signature.reduction = *reduction;
    } else if (const auto collective = collective_named(word)) {
      request.signature.collective = *collective;
    } else if (word == "codes") {
      request.codes = cursor.take_numbers();
    } else if (word == "floor" || word == "given") {
      for (const std::int64_t code : cursor.take_numbers()) {
        request.given.push_back(static_cast<std::uint16_t>(code));
      }
    } else if (word == "specials") {
      request.specials = true;
    } else if (word == "of") {
      request.divisor = cursor.take_number();
    } else if (word == "agreed") {
      request.agreed_world = cursor.take_number();
    } else {
      cursor.fail("numbers have no '" + word + "'");
    }
  }
  return request;
}

const core::TensorCodec& codec_of(const Step& step, const numeric::KernelSet& kernels,
                                  const Request& request) {
  const auto dtype = static_cast<core::DataType>(request.signature.dtype);
  const auto reduction = static_cast<core::Reduction>(request.signature.reduction);
  const core::TensorCodec* const codec =
      request.agreed_world > 0
          ? kernels.agreed_codec(dtype, reduction, static_cast<std::uint32_t>(request.agreed_world))
          : kernels.codec(dtype, static_cast<core::WireFormat>(request.signature.format), reduction,
                          static_cast<core::Collective>(request.signature.collective));
  if (codec == nullptr) throw VectorError(step.where + ": there is no such codec");
  return *codec;
}

// Returns the body of a packet with these numbers.
std::vector<std::byte> body_of(const Request& request, const std::vector<std::int64_t>& codes,
                               const std::vector<std::int64_t>& mantissas) {
  PacketText packet;
  packet.signature = request.signature;
  packet.codes = codes;
  packet.elements = mantissas;
  packet.signature.last_elements = static_cast<std::int64_t>(mantissas.size());
  std::vector<std::byte> bytes = to_bytes(packet, "body");
  bytes.erase(bytes.begin(), bytes.begin() + INFOLD_HEADER_BYTES);
  return bytes;
}

void encode(const Step& step, Cursor& cursor) {
  Request request = read_request(cursor, false);
  const core::ElementLayout layout = layout_of(request.signature);
  const std::vector<std::byte> tensor = tensor_bytes(step, layout.dtype, request.values);
  const auto elements = static_cast<std::uint32_t>(request.values.size());
  if (!cursor.accept("expect")) cursor.fail("'encode' needs an 'expect'");
  std::vector<std::int64_t> codes;
  std::vector<std::int64_t> mantissas;
  bool specials = false;
  while (!cursor.done()) {
    if (cursor.accept("codes"))
      codes = cursor.take_numbers();
    else if (cursor.accept("specials"))
      specials = true;
    else
      mantissas = cursor.take_numbers();
  }
  const std::vector<std::byte> wanted = body_of(request, codes, mantissas);
  for (const numeric::KernelSet& kernels : numeric::supported_kernels()) {
    std::vector<std::byte> got(layout.payload_bytes(elements), std::byte{0xEE});
    const bool flagged = codec_of(step, kernels, request)
                             .encode(nullptr, tensor.data(), {0, elements},
                                     request.given.empty() ? nullptr : request.given.data(),
                                     got.data(), got.data() + layout.exponent_bytes(elements));
    if (got == wanted && flagged == specials) continue;
    throw VectorError(step.where + ": " + std::string(kernels.name) + " kernels encode otherwise" +
                      "\n  expected" + (specials ? " specials " : " ") + hex(wanted) +
                      "\n  got     " + (flagged ? " specials " : " ") + hex(got));
  }
}

void decode(const Step& step, Cursor& cursor) {
  Request request = read_request(cursor, true);
  const core::ElementLayout layout = layout_of(request.signature);
  if (!cursor.accept("expect")) cursor.fail("'decode' needs an 'expect'");
  const std::vector<std::byte> wanted = tensor_bytes(step, layout.dtype, cursor.take_list());
  const std::vector<std::byte> body = body_of(request, request.codes, request.mantissas);
  const auto elements = static_cast<std::uint32_t>(request.mantissas.size());
  core::TensorCodec::Received received;
  received.exponents = body.data();
  received.elements = body.data() + layout.exponent_bytes(elements);
  received.codes = request.given.empty() ? nullptr : request.given.data();
  received.divisor = static_cast<std::uint32_t>(request.divisor);
  received.specials = request.specials;
  for (const numeric::KernelSet& kernels : numeric::supported_kernels()) {
    std::vector<std::byte> got(wanted.size(), std::byte{0xEE});
    codec_of(step, kernels, request).decode(nullptr, got.data(), {0, elements}, received);
    if (got == wanted) continue;
    throw VectorError(step.where + ": " + std::string(kernels.name) + " kernels decode otherwise" +
                      "\n  expected " + tensor_words(layout.dtype, wanted) + "\n  got      " +
                      tensor_words(layout.dtype, got));
  }
}

// "agree f32 [...] expect codes [...]": a rank's own codes for the agreement of R-040.
void agree(const Step& step, Cursor& cursor) {
  const Request request = read_request(cursor, false);
  const core::ElementLayout layout = layout_of(request.signature);
  const std::vector<std::byte> tensor = tensor_bytes(step, layout.dtype, request.values);
  const auto elements = static_cast<std::uint32_t>(request.values.size());
  std::vector<std::uint16_t> got(layout.block_count(elements));
  numeric::block_codes(layout.dtype, tensor.data(), {0, elements}, got.data());
  if (!cursor.accept("expect") || !cursor.accept("codes")) cursor.fail("needs 'expect codes [..]'");
  const std::vector<std::int64_t> wanted = cursor.take_numbers();
  if (std::equal(wanted.begin(), wanted.end(), got.begin(), got.end())) return;
  throw VectorError(step.where + ": the first code is " + std::to_string(got.at(0)));
}

// "chunk f32/bfp8 datagram 1472 limit 8192 tree expect 352".
void chunk(Cursor& cursor) {
  Request request;
  read_type(cursor, request);
  core::ChunkLimits limits;
  while (!cursor.accept("expect")) {
    if (cursor.accept("datagram")) {
      limits.datagram_bytes_max = static_cast<std::uint32_t>(cursor.take_number());
    } else if (cursor.accept("limit")) {
      limits.elements_max = static_cast<std::uint32_t>(cursor.take_number());
    } else if (cursor.accept("tree")) {
      limits.tree = true;
    } else if (cursor.accept("tagged")) {
      limits.tagged = true;
    } else {
      cursor.fail("a chunk has no '" + cursor.peek() + "'");
    }
  }
  const std::int64_t wanted = cursor.take_number();
  const std::uint32_t got = core::chunk_elements(layout_of(request.signature), limits);
  if (got != wanted) cursor.fail("a chunk has " + std::to_string(got) + " elements");
}

}  // namespace

bool is_number_step(const Step& step) {
  const std::string& verb = step.tokens.at(0);
  return verb == "encode" || verb == "decode" || verb == "agree" || verb == "chunk" ||
         is_digits_step(step);
}

void run_number_step(const Step& step) {
  if (is_digits_step(step)) return run_digits_step(step);
  Cursor cursor(step);
  const std::string verb = cursor.take_word();
  if (verb == "encode") {
    encode(step, cursor);
  } else if (verb == "decode") {
    decode(step, cursor);
  } else if (verb == "agree") {
    agree(step, cursor);
  } else {
    chunk(cursor);
  }
  if (!cursor.done()) cursor.fail("'" + cursor.peek() + "' does not belong here");
}

}  // namespace infold::conformance
