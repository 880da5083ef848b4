// SPDX-License-Identifier: Apache-2.0
#include "core/site_record.h"

namespace infold::core {

std::string names_of(FormatSet formats, const char* between) {
  std::string names;
  for (int code = 0; code < INFOLD_FORMAT_COUNT; ++code) {
    const auto format = static_cast<WireFormat>(code);
    if (!formats.has(format)) continue;
    if (!names.empty()) names += between;
    names += format_name(format);
  }
  return names.empty() ? "nothing" : names;
}

}  // namespace infold::core
