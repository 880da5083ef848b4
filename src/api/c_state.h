// SPDX-License-Identifier: Apache-2.0
//
// Shared by the files of the C functions: the communicator behind infold.h's pointer, and the error
// that each thread keeps until its next call.
#pragma once

#include <cstdint>
#include <exception>
#include <memory>
#include <string>

#include <infold/communicator.h>
#include <infold/infold.h>

struct infold_communicator {
  infold::Communicator value;
  std::string interface;
};

namespace infold::c_abi {

// The calling thread's last error.
Error& last_error();

// Keeps the error, and returns its number.
infold_code fail(Error error);
infold_code refuse(const char* message);

// Runs a body that returns an infold_code. No exception leaves this function.
template <typename Body>
infold_code guarded(Body&& body) noexcept {
  try {
    return body();
  } catch (const std::exception&) {
    // The text is short enough to need no memory, because memory has run out.
    last_error().code = Code::resource_exhausted;
    last_error().message.assign("out of memory");
    return INFOLD_ERROR_RESOURCE_EXHAUSTED;
  }
}

// Converts a number from outside, which may not be a value of the enum; later checks refuse such
// values.
template <typename Enum>
Enum enum_of(std::int32_t number) {
  return static_cast<Enum>(number < 0 || number > 255 ? 255 : number);
}

std::unique_ptr<infold_communicator> owned(Communicator&& communicator);

}  // namespace infold::c_abi
