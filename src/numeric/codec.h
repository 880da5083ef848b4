// SPDX-License-Identifier: Apache-2.0
//
// The tables of numeric kernels: tensors to and from the wire, and the aggregator's arithmetic.
// Each exists as scalar loops, which define the bits, and once for every vector instruction set;
// all agree bit for bit on every input. Tables are constants: any thread may use them.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "core/aggregator/arithmetic.h"
#include "core/format.h"
#include "core/tensor_codec.h"

namespace infold::numeric {

// Bit 15 of an agreed exponent code: some rank has a NaN or an infinity in the block.
inline constexpr std::uint16_t kAgreedSpecial = 0x8000;
// Past this many ranks a block with specials has fewer than four bits for its finite elements.
inline constexpr std::uint32_t kAgreedWorldMax = 511;

// Each lookup returns null for what does not exist.
//
// Block floats: sum and average of the float types.
using BlockCodecLookup = const core::TensorCodec* (*)(core::DataType, core::WireFormat,
                                                      core::Reduction);
// Elements that stay integers: sums and averages of integer types, least and greatest of all
// types, and copies.
using PlainCodecLookup = const core::TensorCodec* (*)(core::DataType, core::WireFormat,
                                                      core::Reduction, core::Collective);
// Floats as 32-bit integers with agreed exponents, for planes that can only add: sum and average
// of the float types, for a world of 1 to kAgreedWorldMax ranks.
using AgreedCodecLookup = const core::TensorCodec* (*)(core::DataType, core::Reduction,
                                                       std::uint32_t world);
// Writes the code that each block of a float tensor would have in bfp32, for the ranks to agree on
// the largest; kAgreedSpecial is added if the block holds a NaN or infinity. The two parts must be
// agreed separately: the largest of the sums is not the sum of the largest. Nothing for integers.
using BlockCodes = void (*)(core::DataType, const std::byte* tensor, core::ChunkRange,
                            std::uint16_t* codes);

// Sets the bit of each block of R-022 that holds anything but zeros, the lowest of the first word
// for the first block, and clears the others. Returns whether one of these holds a negative zero.
// `cleared`, if not null, is memory as long as the tensor and apart from it: meanwhile all of it is
// set to zeros, past the caches as numeric::clear() does with long memory.
using FindPresence = bool (*)(core::DataType, const std::byte* tensor, std::uint64_t elements,
                              std::uint32_t* words, std::byte* cleared);

// Everything one instruction set offers.
struct KernelSet {
  std::string_view name;
  const core::Arithmetic* arithmetic = nullptr;
  BlockCodecLookup block_codec = nullptr;
  PlainCodecLookup plain_codec = nullptr;
  AgreedCodecLookup agreed_codec = nullptr;
  BlockCodes block_codes = nullptr;
  FindPresence find_presence = nullptr;

  // Null if the combination does not exist. Floats with agreed exponents are not here.
  const core::TensorCodec* codec(core::DataType dtype, core::WireFormat format,
                                 core::Reduction reduction, core::Collective collective) const;
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
inline void block_codes(core::DataType dtype, const std::byte* tensor, core::ChunkRange range,
                        std::uint16_t* codes) {
  kernels().block_codes(dtype, tensor, range, codes);
}
inline bool find_presence(core::DataType dtype, const std::byte* tensor, std::uint64_t elements,
                          std::uint32_t* words, std::byte* cleared = nullptr) {
  return kernels().find_presence(dtype, tensor, elements, words, cleared);
}
inline const core::TensorCodec* scalar_codec(core::DataType dtype, core::WireFormat format,
                                             core::Reduction reduction,
                                             core::Collective collective) {
  return scalar_kernels().codec(dtype, format, reduction, collective);
}

}  // namespace infold::numeric
