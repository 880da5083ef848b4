// SPDX-License-Identifier: Apache-2.0
//
// Reads any text as costs of processors. Costs that were read can be written and read again without
// a change.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/check.h"
#include "study/predict/processors_text.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace infold::predict;
  const auto read = read_processors({reinterpret_cast<const char*>(data), size});
  if (!read) return 0;
  const std::string text = write_processors(*read, "fuzz");
  const auto again = read_processors(text);
  CHECK(again.has_value());
  CHECK(write_processors(*again, "fuzz") == text);
  return 0;
}
