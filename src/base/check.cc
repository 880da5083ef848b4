// SPDX-License-Identifier: Apache-2.0
//
// A failed CHECK prints one line on stderr and aborts.
#include "base/check.h"

#include <cinttypes>
#include <cstdio>
#include <cstdlib>

namespace infold::base {

void check_failed(const char* condition, std::source_location where) {
  std::fprintf(stderr, "%s:%" PRIuLEAST32 ": in %s: CHECK(%s) failed\n", where.file_name(),
               where.line(), where.function_name(), condition);
  std::abort();
}

void check_failed_values(const char* condition, std::int64_t left, std::int64_t right,
                         std::source_location where) {
  std::fprintf(stderr,
               "%s:%" PRIuLEAST32 ": in %s: CHECK(%s) failed with %" PRId64 " and %" PRId64 "\n",
               where.file_name(), where.line(), where.function_name(), condition, left, right);
  std::abort();
}

}  // namespace infold::base
