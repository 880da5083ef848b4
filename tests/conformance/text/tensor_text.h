// SPDX-License-Identifier: Apache-2.0
//
// Converts tensors in vectors, such as "[1 0.5 nan 0x1p-149 -0]", to the bytes that a program
// holds, and back to words.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "core/format.h"
#include "tests/conformance/text/packet_text.h"

namespace infold::conformance {

// Returns the bits of "2.5", "0x1p-149", "inf", "nan", "bits:0x7fc00001", or of an integer.
std::uint64_t value_bits(const Step& step, core::DataType dtype, const std::string& text);
std::vector<std::byte> tensor_bytes(const Step& step, core::DataType dtype,
                                    const std::vector<std::string>& values);
// Values with their bits, for failures.
std::string tensor_words(core::DataType dtype, const std::vector<std::byte>& tensor);
core::ElementLayout layout_of(const Signature& signature);

}  // namespace infold::conformance
