// SPDX-License-Identifier: Apache-2.0
#include "study/sim/nodes/zeros.h"

#include <array>
#include <cstring>

namespace infold::sim {
namespace {

// Formats and types have 4 bits each on the wire.
constexpr std::size_t kNumbers = 16;

// A codec learns its layout from its context, which must outlive every transfer.
void* context_of(core::ElementLayout layout) {
  static auto layouts = [] {
    std::array<core::ElementLayout, kNumbers * kNumbers> all{};
    for (std::size_t i = 0; i < all.size(); ++i) {
      all[i] = {static_cast<core::WireFormat>(i % kNumbers),
                static_cast<core::DataType>(i / kNumbers)};
    }
    return all;
  }();
  return &layouts.at(static_cast<std::size_t>(layout.dtype) * kNumbers +
                     static_cast<std::size_t>(layout.format));
}

bool encode(const void* context, const std::byte* /*tensor*/, core::ChunkRange range,
            const std::uint16_t* /*codes*/, std::byte* exponents, std::byte* elements) {
  write_zeros(*static_cast<const core::ElementLayout*>(context), range, exponents, elements);
  return false;
}

void decode(void* /*context*/, std::byte* /*tensor*/, core::ChunkRange /*range*/,
            const core::TensorCodec::Received& /*received*/) {}

constexpr core::TensorCodec kZeros = {.element_bytes = 0, .encode = encode, .decode = decode};

}  // namespace

void write_zeros(core::ElementLayout layout, core::ChunkRange range, std::byte* exponents,
                 std::byte* elements) {
  std::memset(exponents, 0, layout.exponent_bytes(range.elements));
  std::memset(elements, 0, std::size_t{range.elements} * layout.element_bytes());
}

void contribute_zeros(core::TransferRequest& request) {
  if (request.elements == 0) return;
  request.codec = &kZeros;
  request.context = context_of(request.layout);
}

core::TransferRequest sum_of_zeros(core::ElementLayout layout, std::uint64_t elements) {
  core::TransferRequest request;
  request.layout = layout;
  request.elements = elements;
  contribute_zeros(request);
  return request;
}

}  // namespace infold::sim
