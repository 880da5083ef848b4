// SPDX-License-Identifier: Apache-2.0
//
// The tables of numeric kernels, which convert tensors to and from the wire and do the aggregator's
// arithmetic. Each kernel exists as scalar loops, which define the bits, and once for every vector
// instruction set. All versions agree bit for bit on every input. Tables are constants, so any
// thread may use them.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "core/aggregator/arithmetic.h"
#include "core/format.h"
#include "core/tensor_codec.h"
#include "numeric/adders/digits.h"
#include "numeric/codes/code_loops.h"

namespace infold::numeric {

// Bit 15 of an agreed exponent code is set if some rank has a NaN or an infinity in the block
//
inline constexpr std::uint16_t kAgreedSpecial = 0x8000;
// With more ranks, a block with specials would have fewer than four bits for its finite elements.
inline constexpr std::uint32_t kAgreedWorldMax = 511;

// Each lookup returns null if there is no such codec.
//
// Block floats, for sum and average of the float types.
using BlockCodecLookup = const core::TensorCodec* (*)(core::DataType, core::WireFormat,
                                                      core::Reduction);
// Elements that travel as integers: sums and averages of integer types, minimum and maximum of all
// types, and copies.
using PlainCodecLookup = const core::TensorCodec* (*)(core::DataType, core::WireFormat,
                                                      core::Reduction, core::Collective);
// Floats as 32-bit integers with agreed exponents, for planes that can only add. This covers sum
// and average of the float types, for a world of 1 to kAgreedWorldMax ranks.
using AgreedCodecLookup = const core::TensorCodec* (*)(core::DataType, core::Reduction,
                                                       std::uint32_t world);
// Writes the code that each block of a float tensor would have in bfp32, plus kAgreedSpecial if the
// block holds a NaN or infinity. The ranks then agree on the largest code. They must agree on the
// code and on kAgreedSpecial separately, because a sum with kAgreedSpecial exceeds every sum
// without it, even if its code is smaller. Writes nothing for integers.
using BlockCodes = void (*)(core::DataType, const std::byte* tensor, core::ChunkRange,
                            std::uint16_t* codes);

// Sets the bit of each block of R-022 that holds a nonzero element, and clears all other bits. The
// first block has the lowest bit of the first word. Returns true if a block of zeros holds a
// negative zero. If `cleared` is not null, it is memory as long as the tensor, which it does not
// overlap. The same pass sets this memory to zeros, with stores that bypass the caches as in
// numeric::clear().
using FindPresence = bool (*)(core::DataType, const std::byte* tensor, std::uint64_t elements,
                              std::uint32_t* words, std::byte* cleared);

// All kernels of one instruction set.
struct KernelSet {
  std::string_view name;
  const core::Arithmetic* arithmetic = nullptr;
  BlockCodecLookup block_codec = nullptr;
  PlainCodecLookup plain_codec = nullptr;
  AgreedCodecLookup agreed_codec = nullptr;
  BlockCodes block_codes = nullptr;
  FindPresence find_presence = nullptr;
  const DigitLoops* digits = nullptr;  // one for each float type, in the order of DataType
  const CodeLoops* codes = nullptr;    // the loops that compress a tensor

  // Returns null if the combination does not exist. Floats with agreed exponents are not included.
  const core::TensorCodec* codec(core::DataType dtype, core::WireFormat format,
                                 core::Reduction reduction, core::Collective collective) const;
};

// Returns the scalar loops, which define the bits.
const KernelSet& scalar_kernels();
// Returns the sets that this processor can run, the scalar set first and the fastest last.
std::span<const KernelSet> supported_kernels();
// Returns null if this processor cannot run the set, or no set has this name.
const KernelSet* find_kernels(std::string_view name);
// Returns the fastest set.
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
inline void block_codes(core::DataType dtype, const std::byte* tensor, core::ChunkRange range,
                        std::uint16_t* codes) {
  kernels().block_codes(dtype, tensor, range, codes);
}
inline bool find_presence(core::DataType dtype, const std::byte* tensor, std::uint64_t elements,
                          std::uint32_t* words, std::byte* cleared = nullptr) {
  return kernels().find_presence(dtype, tensor, elements, words, cleared);
}
// Requires: a float type.
inline const DigitLoops& digit_loops(core::DataType dtype) {
  return kernels().digits[static_cast<std::size_t>(dtype)];
}
inline const CodeLoops& code_loops() { return *kernels().codes; }
inline const core::TensorCodec* scalar_codec(core::DataType dtype, core::WireFormat format,
                                             core::Reduction reduction,
                                             core::Collective collective) {
  return scalar_kernels().codec(dtype, format, reduction, collective);
}

}  // namespace infold::numeric
