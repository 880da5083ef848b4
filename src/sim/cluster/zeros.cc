// SPDX-License-Identifier: Apache-2.0
//
// A codec that writes zeros and ignores results.
#include "sim/cluster/zeros.h"

#include <cstring>

#include "base/check.h"

namespace infold::sim {
namespace {

constexpr std::uint32_t kWireElementBytes = 4;

constexpr core::TensorCodec kZeros = {
    .encode =
        [](const void*, const std::byte*, core::ChunkRange range, const std::uint16_t*,
           std::byte* exponents, std::byte* elements) {
          std::memset(exponents, 0, static_cast<std::size_t>(elements - exponents));
          std::memset(elements, 0, range.elements * std::size_t{kWireElementBytes});
          return false;
        },
    .decode = [](void*, std::byte*, core::ChunkRange, const core::TensorCodec::Received&) {}};

}  // namespace

core::TransferRequest sum_of_zeros(core::ElementLayout layout, std::uint64_t elements) {
  CHECK_THAT(layout.element_bytes(), ==, kWireElementBytes);
  static std::byte context{};  // says that the result is wanted; nothing reads or writes it
  core::TransferRequest request;
  request.layout = layout;
  request.elements = elements;
  request.codec = &kZeros;
  request.context = &context;
  return request;
}

}  // namespace infold::sim
