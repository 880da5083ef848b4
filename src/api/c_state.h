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
// Keeps an error that says what the exception means, and returns its number. Memory or threads that
// are missing may be there later; any other exception is a fault of infold, and repeating the call
// does not help.
infold_code fail_with(const std::exception& exception) noexcept;

// Runs a body that returns an infold_code. No exception leaves this function.
template <typename Body>
infold_code guarded(Body&& body) noexcept {
  try {
    return body();
  } catch (const std::exception& exception) {
    return fail_with(exception);
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
