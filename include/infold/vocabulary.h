// SPDX-License-Identifier: Apache-2.0
//
// The enumerations that callers, packets and all parts of infold share: element types, reductions,
// priorities and error codes. Each number is fixed. infold.h has the same numbers, and packets
// carry the numbers of DataType and Reduction (spec/protocol.md, section 2). This header needs only
// the standard library's integers.
#pragma once

#include <cstdint>

namespace infold {

// Types of a tensor's elements.
enum class DataType : std::uint8_t {
  f32 = 0,
  f16 = 1,
  bf16 = 2,
  f64 = 3,
  i8 = 4,
  u8 = 5,
  i32 = 6,
  i64 = 7,
};

// Returns the bytes of one element in memory, or 0 for a number that is not a DataType.
constexpr std::uint32_t element_bytes(DataType type) {
  switch (type) {
    case DataType::i8:
    case DataType::u8: return 1;
    case DataType::f16:
    case DataType::bf16: return 2;
    case DataType::f32:
    case DataType::i32: return 4;
    case DataType::f64:
    case DataType::i64: return 8;
  }
  return 0;
}

enum class Reduction : std::uint8_t {
  sum = 0,
  average = 1,
  min = 2,
  max = 3,
  bit_or = 4,  // bitwise, for integers
};

// Which calls go first on links that carry several. All ranks must make the same choice.
enum class Priority : std::uint8_t {
  automatic = 0,   // small tensors (up to 64 packets for each site) ahead of large ones
  urgent = 1,      // with the small ones, whatever its size: if the next step waits for the tensor
  background = 2,  // with the large ones, whatever its size
};

// The reason for a failure. Each comment says whether to retry.
enum class Code : std::uint8_t {
  invalid_argument = 1,    // the request is wrong; never repeat it unchanged
  out_of_range = 2,        // a number is outside its stated limits; never repeat it unchanged
  unsupported = 3,         // not with this type, operation, wire format or path; choose another
  resource_exhausted = 4,  // memory or a bounded table is full; retry when something has finished
  mismatch = 5,            // ranks disagree about a call; fix the program
  deadline_exceeded = 6,   // time ran out waiting for a rank; the job is over, join again
  cancelled = 7,           // a rank gave a call up or left; the job is over, join again
  aborted = 8,             // the job had ended before; join again
  unavailable = 9,         // an aggregator, rank or device is not there; retry with back-off
  pending = 10,            // only from Handle::wait_for: not done yet, the call goes on
};

// Return names such as "bf16", "or" and "mismatch". The text is static, and "unknown" for a number
// that is not such a value.
const char* data_type_name(DataType type);
const char* reduction_name(Reduction reduction);
const char* code_name(Code code);

}  // namespace infold
