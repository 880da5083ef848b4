// SPDX-License-Identifier: Apache-2.0
//
// The names of error codes, as users read them.
#include "base/result.h"

namespace infold::base {

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
  }
  return "unknown";
}

}  // namespace infold::base
