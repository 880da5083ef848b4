// SPDX-License-Identifier: Apache-2.0
//
// Expected failures as values. Result<T> holds a T or an Error that says what happened, where,
// and in words a person can act on; the words are static text and numbers, so that making an
// error allocates nothing. Our own bugs are not errors: they are CHECKs.
#pragma once

#include <cstdint>

#include <tl/expected.hpp>

namespace infold::base {

// Who should retry is part of each code's meaning.
enum class Code : std::uint8_t {
  invalid_argument,    // the caller's request is wrong; never retry it unchanged
  out_of_range,        // a number is outside its stated limits; never retry it unchanged
  unsupported,         // this build or plane cannot do it; choose another way
  resource_exhausted,  // a bounded table is full; retry after something finishes
  mismatch,            // ranks disagree about a call; fix the program
  deadline_exceeded,   // time ran out waiting for a peer; the job is over, join again
  cancelled,           // a rank gave the call up; the job is over, join again
  aborted,             // the job ended earlier; join again
  unavailable,         // a peer or device is not there; retry with back-off
};

const char* code_name(Code code);

struct Error {
  Code code = Code::invalid_argument;
  const char* where = "";   // static text: the part that noticed, as in "all_reduce"
  const char* detail = "";  // static text: what to do about it
  std::int64_t value = 0;   // the observed number, where one explains the failure
};

template <typename T>
using Result = tl::expected<T, Error>;

inline tl::unexpected<Error> fail(Code code, const char* where, const char* detail,
                                  std::int64_t value = 0) {
  return tl::unexpected<Error>(Error{code, where, detail, value});
}

}  // namespace infold::base
