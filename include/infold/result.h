// SPDX-License-Identifier: Apache-2.0
//
// What a call gives back: a value, or an Error that says what happened, where, and what to do.
// infold never throws for anything that a user, a peer or the network can cause, and never stops
// the process. Results are plain values; any thread may use its own.
#pragma once

#include <cstdint>
#include <string>

#include <tl/expected.hpp>

namespace infold {

// Who should retry is part of each code's meaning. The numbers are also those of infold.h.
enum class Code : std::uint8_t {
  invalid_argument = 1,    // the request is wrong; never repeat it unchanged
  out_of_range = 2,        // a number is outside its stated limits; never repeat it unchanged
  unsupported = 3,         // this type, operation and wire format do not go together
  resource_exhausted = 4,  // memory or a bounded table is full; retry when something has finished
  mismatch = 5,            // ranks disagree about a call; fix the program
  deadline_exceeded = 6,   // time ran out waiting for a peer; the job is over, join again
  cancelled = 7,           // a rank gave a call up or left; the job is over, join again
  aborted = 8,             // the job had ended before; join again
  unavailable = 9,         // an aggregator never answered; retry with back-off
  pending = 10,            // only from Handle::wait_for: not done yet, the call goes on
};

// "mismatch" and so on; static text.
const char* code_name(Code code);

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
