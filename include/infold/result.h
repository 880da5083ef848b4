// SPDX-License-Identifier: Apache-2.0
//
// A call returns a value, or an Error that says what happened, where, and what to do. A mistake of
// the user, another rank or the network never makes infold throw or stop the process. Results are
// plain values, so any thread may use its own.
#pragma once

#include <string>

#include <infold/vocabulary.h>
#include <tl/expected.hpp>

namespace infold {

struct Error {
  Code code = Code::invalid_argument;
  std::string message;     // for people, such as "all_reduce #3: rank 2 passed 10 elements, ..."
  int rank = -1;           // the rank to look at, if one is known
  const char* field = "";  // of a mismatch: "size", "type", "operation", "root", "wire format",
                           // "encoding", "result"
};

template <typename T>
using Result = tl::expected<T, Error>;

}  // namespace infold
