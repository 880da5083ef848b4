// SPDX-License-Identifier: Apache-2.0
//
// Tensors of floats in a block format, as packets carry them. They are for programs that encode
// elsewhere, such as on another processor, or that use a sum in its encoded form. Views own
// nothing.
#pragma once

#include <cstddef>

#include <infold/options.h>
#include <infold/result.h>
#include <infold/tensor.h>

namespace infold {

// A block has 32 elements, or 64 if the floats are f64. `exponents` has one code for each block:
// one byte, or two bytes for f64 with the higher byte first. `mantissas` has one little-endian
// integer for each element, of 8 bits in bfp8, 16 in bfp16 and 32 in bfp32. Rules
// of the protocol define the values of mantissas and codes.
struct EncodedView {
  WireFormat wire = WireFormat::bfp16;
  DataType type = DataType::f32;  // the type of the floats that were encoded
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

// The sizes of the two parts in bytes. Both are 0 for integers and for wire formats that are not
// block formats.
std::size_t exponent_bytes(WireFormat wire, DataType type, std::size_t elements);
std::size_t mantissa_bytes(WireFormat wire, DataType type, std::size_t elements);

// Encode floats and decode them as infold itself does. The tensor must have the view's type and
// size.
Result<void> encode(TensorView tensor, const MutableEncodedView& encoded);
Result<void> decode(const EncodedView& encoded, MutableTensorView tensor);

}  // namespace infold
