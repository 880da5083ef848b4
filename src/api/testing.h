// SPDX-License-Identifier: Apache-2.0
//
// For tests of the API: runs a body once for each rank, each on its own thread, as programs do.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstring>
#include <functional>
#include <iomanip>
#include <limits>
#include <optional>
#include <source_location>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <infold/local_group.h>

namespace infold::testing {

// Makes a group whose calls have a deadline that is longer than any busy machine needs, unless the
// test sets a deadline. With a sanitizer and tens of calls in flight, a busy machine needs longer
// than users would wait.
inline LocalGroup make_group(LocalGroupOptions options) {
  if (options.deadline == LocalGroupOptions{}.deadline) options.deadline = std::chrono::minutes(10);
  return LocalGroup::create(options).value();
}

// The body checks results with EXPECT; `rank` is for its messages.
inline void on_every_rank(LocalGroup& group,
                          const std::function<void(Communicator& comm, int rank)>& body) {
  std::vector<std::thread> threads;
  for (int rank = 0; rank < group.world(); ++rank) {
    threads.emplace_back([&, rank] { body(group[rank], rank); });
  }
  for (std::thread& thread : threads) thread.join();
}

using MaybeError = std::optional<Error>;

inline MaybeError error_of(const Result<Completion>& result) {
  return result ? MaybeError() : result.error();
}

inline void expect_done(const Result<Completion>& result, int ranks_summed,
                        std::source_location where = std::source_location::current()) {
  const ::testing::ScopedTrace trace(where.file_name(), static_cast<int>(where.line()), "call");
  if (!result) {
    ADD_FAILURE() << result.error().message;
  } else {
    EXPECT_EQ(result->ranks_summed, ranks_summed);
  }
}

// Reports how many elements differ, and the first of them.
template <typename T>
::testing::AssertionResult same_bits(const std::vector<T>& a, const std::vector<T>& b) {
  if (a.size() != b.size()) {
    return ::testing::AssertionFailure() << a.size() << " elements and " << b.size();
  }
  std::size_t different = 0, first = 0, last = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (std::memcmp(&a[i], &b[i], sizeof(T)) == 0) continue;
    if (different++ == 0) first = i;
    last = i;
  }
  if (different == 0) return ::testing::AssertionSuccess();
  return ::testing::AssertionFailure()
         << different << " of " << a.size() << " elements differ, from " << first << " to " << last
         << "; the first is " << std::setprecision(std::numeric_limits<T>::max_digits10)
         << +a[first] << " and " << +b[first];
}

}  // namespace infold::testing
