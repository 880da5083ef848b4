// SPDX-License-Identifier: Apache-2.0
//
// CHECK stops the process in every build when our own code is wrong, because a wrong sum must never
// leave the machine. It is not for anything that a rank, a user or the system can cause; such
// failures are values (base/result.h) or verdicts. Any thread may call it.
#pragma once

#include <cstdint>
#include <source_location>

namespace infold::base {

[[noreturn, gnu::cold]] void check_failed(const char* condition, std::source_location where);

// Prints both sides, so that a failure in a long simulation explains itself.
[[noreturn, gnu::cold]] void check_failed_values(const char* condition, std::int64_t left,
                                                 std::int64_t right, std::source_location where);

}  // namespace infold::base

#define CHECK(condition)              \
  ((condition) ? static_cast<void>(0) \
               : ::infold::base::check_failed(#condition, std::source_location::current()))

// `comparison` is an operator, as in CHECK_THAT(used, <=, capacity).
#define CHECK_THAT(left, comparison, right)                                     \
  (((left)comparison(right))                                                    \
       ? static_cast<void>(0)                                                   \
       : ::infold::base::check_failed_values(                                   \
             #left " " #comparison " " #right, static_cast<std::int64_t>(left), \
             static_cast<std::int64_t>(right), std::source_location::current()))
