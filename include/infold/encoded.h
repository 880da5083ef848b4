// SPDX-License-Identifier: Apache-2.0
//
// Tensors of floats in a block format, as packets carry them: for programs that encode elsewhere,
// such as on another processor, and for those that take a sum as it comes. Views own nothing.
#pragma once

#include <cstddef>

#include <infold/options.h>
#include <infold/result.h>
#include <infold/tensor.h>

namespace infold {

// A block has 32 elements, 64 where the floats are f64. `exponents` has a code for each block: a
// byte, or two bytes of f64, the higher first. `mantissas` has an integer for each element,
// little-endian: 8, 16 or 32 bits as bfp8, bfp16 and bfp32. The values of codes and mantissas are
// in sections 3 and 4 of the protocol, rules.
struct EncodedView {
  WireFormat wire = WireFormat::bfp16;
  DataType type = DataType::f32;  // of the floats that it stands for
  std::size_t elements = 0;
  const void* exponents = nullptr;
  const void* mantissas = nullptr;
};

struct MutableEncodedView {
  WireFormat wire = WireFormat::bfp16;
  DataType type = DataType::f32;
  std::size_t elements = 0;
  void* exponents = nullptr;
  void* mantissas = nullptr;

  constexpr operator EncodedView() const { return {wire, type, elements, exponents, mantissas}; }
};

// Bytes of both parts. 0 for a wire format that is no block format, and for integers.
std::size_t exponent_bytes(WireFormat wire, DataType type, std::size_t elements);
std::size_t mantissa_bytes(WireFormat wire, DataType type, std::size_t elements);

// From floats and back, as infold itself does it. The tensor has the view's type and elements.
Result<void> encode(TensorView tensor, const MutableEncodedView& encoded);
Result<void> decode(const EncodedView& encoded, MutableTensorView tensor);

}  // namespace infold
