// SPDX-License-Identifier: Apache-2.0
//
// The names by which users know the values of the shared enumerations.
#include <infold/vocabulary.h>

namespace infold {

const char* data_type_name(DataType type) {
  switch (type) {
    case DataType::f32: return "f32";
    case DataType::f16: return "f16";
    case DataType::bf16: return "bf16";
    case DataType::f64: return "f64";
    case DataType::i8: return "i8";
    case DataType::u8: return "u8";
    case DataType::i32: return "i32";
    case DataType::i64: return "i64";
  }
  return "unknown";
}

const char* reduction_name(Reduction reduction) {
  switch (reduction) {
    case Reduction::sum: return "sum";
    case Reduction::average: return "average";
    case Reduction::min: return "min";
    case Reduction::max: return "max";
    case Reduction::bit_or: return "or";
  }
  return "unknown";
}

const char* code_name(Code code) {
  switch (code) {
    case Code::invalid_argument: return "invalid_argument";
    case Code::out_of_range: return "out_of_range";
    case Code::unsupported: return "unsupported";
    case Code::resource_exhausted: return "resource_exhausted";
    case Code::mismatch: return "mismatch";
    case Code::deadline_exceeded: return "deadline_exceeded";
    case Code::cancelled: return "cancelled";
    case Code::aborted: return "aborted";
    case Code::unavailable: return "unavailable";
    case Code::pending: return "pending";
  }
  return "unknown";
}

}  // namespace infold
