// SPDX-License-Identifier: Apache-2.0
//
// Expected failures as values. Result<T> holds a T or an Error, which says what happened and where,
// in words that a person can act on. The words are static text and numbers, so that making an error
// allocates nothing. Our own bugs are not errors; a CHECK finds them.
#pragma once

#include <cstdint>

#include <infold/vocabulary.h>
#include <tl/expected.hpp>

namespace infold::base {

using infold::Code;

struct Error {
  Code code = Code::invalid_argument;
  const char* where = "";   // static text: the part that noticed, such as "all_reduce"
  const char* detail = "";  // static text: what to do about it
  std::int64_t value = 0;   // the observed number, if one explains the failure
};

template <typename T>
using Result = tl::expected<T, Error>;

inline tl::unexpected<Error> fail(Code code, const char* where, const char* detail,
                                  std::int64_t value = 0) {
  return tl::unexpected<Error>(Error{code, where, detail, value});
}

}  // namespace infold::base
