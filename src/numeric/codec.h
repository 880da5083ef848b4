// SPDX-License-Identifier: Apache-2.0
//
// The tables of numeric kernels: tensors to and from the wire, and the aggregator's arithmetic.
// Each exists as scalar loops, which define the bits, and once for every vector instruction set;
// all agree bit for bit on every input. Tables are constants: any thread may use them.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "core/arithmetic.h"
#include "core/format.h"
#include "core/tensor_codec.h"

namespace infold::numeric {

// Bit 15 of an agreed exponent code: some rank has a NaN or an infinity in the block.
inline constexpr std::uint16_t kAgreedSpecial = 0x8000;
// Past this many ranks a block with specials has fewer than four bits for its finite elements.
inline constexpr std::uint32_t kAgreedWorldMax = 511;

// Writes each block's own code for agreement: 0 for a block of zeros, else
// floor(log2(largest finite magnitude)) + bias, at least 1; kAgreedSpecial added if it holds a
// NaN or infinity. `codes` has one entry per block of `range`. Requires: a float type.
void block_codes(core::DataType dtype, const std::byte* tensor, core::ChunkRange range,
                 std::uint16_t* codes);

// Everything one instruction set offers.
struct KernelSet {
  std::string_view name;
  const core::Arithmetic* arithmetic = nullptr;

  // Null if the combination does not exist. Floats with agreed exponents are not here.
  const core::TensorCodec* (*codec)(core::DataType, core::WireFormat, core::Reduction,
                                    core::Collective) = nullptr;

  // Floats as 32-bit integers with agreed exponents, for planes that can only add. Null unless
  // the type is a float, the reduction sum or average, and world within [1, kAgreedWorldMax].
  const core::TensorCodec* (*agreed_codec)(core::DataType, core::Reduction,
                                           std::uint32_t world) = nullptr;
};

// The defining loops.
const KernelSet& scalar_kernels();
// The sets this processor can run, the scalar one first and the fastest last.
std::span<const KernelSet> supported_kernels();
// Null if this processor cannot run it, or there is no such set.
const KernelSet* find_kernels(std::string_view name);
// The fastest.
const KernelSet& kernels();

inline const core::Arithmetic& arithmetic() { return *kernels().arithmetic; }
inline const core::TensorCodec* codec(core::DataType dtype, core::WireFormat format,
                                      core::Reduction reduction, core::Collective collective) {
  return kernels().codec(dtype, format, reduction, collective);
}
inline const core::TensorCodec* agreed_codec(core::DataType dtype, core::Reduction reduction,
                                             std::uint32_t world) {
  return kernels().agreed_codec(dtype, reduction, world);
}
inline const core::TensorCodec* scalar_codec(core::DataType dtype, core::WireFormat format,
                                             core::Reduction reduction,
                                             core::Collective collective) {
  return scalar_kernels().codec(dtype, format, reduction, collective);
}

}  // namespace infold::numeric
