// SPDX-License-Identifier: Apache-2.0
#include "core/site_record.h"

namespace infold::core {
namespace {

template <typename Value, typename Set>
std::string join_names(Set set, const char* name_of(Value), const char* between) {
  std::string names;
  for (std::uint32_t code = 0; set.bits() >> code != 0; ++code) {
    const auto value = static_cast<Value>(code);
    if (!set.has(value)) continue;
    if (!names.empty()) names += between;
    names += name_of(value);
  }
  return names.empty() ? "nothing" : names;
}

}  // namespace

std::string names_of(FormatSet formats, const char* between) {
  return join_names<WireFormat>(formats, format_name, between);
}

std::string names_of(ReductionSet reductions, const char* between) {
  return join_names<Reduction>(reductions, reduction_name, between);
}

std::string names_of(FloatTypes types, const char* between) {
  return join_names<DataType>(types, data_type_name, between);
}

}  // namespace infold::core
