// SPDX-License-Identifier: Apache-2.0
//
// For tests of the API: runs a body once per rank, each on its own thread, as programs do.
#pragma once

#include <functional>
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

inline LocalGroup make_group(const LocalGroupOptions& options) {
  return LocalGroup::create(options).value();
}

// Results are checked with EXPECT inside the body; `rank` is for its messages.
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

}  // namespace infold::testing
