// SPDX-License-Identifier: Apache-2.0
//
// Errors of Communicator::join(), and the refusals of control planes that they come from or become.
// Pure.
#pragma once

#include <string>

#include <infold/result.h>

#include "base/result.h"
#include "control/registrar.h"

namespace infold::rank {

// "join: " and the message.
Error join_error(Code code, const std::string& message, int rank = -1);
inline Error unavailable(const std::string& message) {
  return join_error(Code::unavailable, message);
}
// The subject, as in "10.0.0.1:7700", has failed so.
Error unavailable(const std::string& subject, const base::Error& error);

Error error_of(const control::Refusal& refusal);
// The refusal that the job's other ranks get when this rank fails to join with this error.
control::Refusal refusal_of(const Error& error, int rank);

}  // namespace infold::rank
