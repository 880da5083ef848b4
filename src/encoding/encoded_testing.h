// SPDX-License-Identifier: Apache-2.0
//
// Memory for an encoded tensor, for tests.
#pragma once

#include <cstddef>
#include <vector>

#include <infold/encoded.h>

namespace infold::encoding {

struct EncodedMemory {
  EncodedMemory(WireFormat wire, DataType type, std::size_t elements)
      : exponents(exponent_bytes(wire, type, elements)),
        mantissas(mantissa_bytes(wire, type, elements)),
        view{wire, type, elements, exponents.data(), mantissas.data()} {}

  std::vector<std::byte> exponents;
  std::vector<std::byte> mantissas;
  MutableEncodedView view;
};

}  // namespace infold::encoding
