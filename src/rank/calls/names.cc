// SPDX-License-Identifier: Apache-2.0
//
// The names of what only callers choose.
#include <infold/options.h>

namespace infold {

const char* wire_format_name(WireFormat wire) {
  switch (wire) {
    case WireFormat::automatic: return "automatic";
    case WireFormat::bfp32: return "bfp32";
    case WireFormat::bfp16: return "bfp16";
    case WireFormat::bfp8: return "bfp8";
    case WireFormat::fixed32: return "fixed32";
  }
  return "unknown";
}

}  // namespace infold
