// SPDX-License-Identifier: Apache-2.0
//
// The return of a call: a value, or an Error with what happened, where, and what to do. infold
// throws nothing, and never stops the process, because of a user, a peer or the network. Results
// are plain values. Any thread may use its own.
#pragma once

#include <string>

#include <infold/vocabulary.h>
#include <tl/expected.hpp>

namespace infold {

struct Error {
  Code code = Code::invalid_argument;
  std::string message;     // for a person, as "all_reduce #3: rank 2 passed 10 elements, ..."
  int rank = -1;           // the rank to look at, where one is known
  const char* field = "";  // of a mismatch: "size", "type", "operation", "root", "wire format",
                           // "encoding", "result"
};

template <typename T>
using Result = tl::expected<T, Error>;

}  // namespace infold
