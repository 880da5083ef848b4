// SPDX-License-Identifier: Apache-2.0
//
// Errors of Communicator::join(), and their conversion from and to refusals of join servers. Pure
// functions.
#pragma once

#include <string>

#include <infold/result.h>

#include "base/result.h"
#include "join/registrar.h"

namespace infold::rank {

// The text is "join: " and the message, without control characters (base/plain_text.h).
Error join_error(Code code, const std::string& message, int rank = -1);
inline Error unavailable(const std::string& message) {
  return join_error(Code::unavailable, message);
}
// The error of a subject such as "10.0.0.1:7700" that has failed with `error`.
Error unavailable(const std::string& subject, const base::Error& error);

Error error_of(const join::Refusal& refusal);
// The refusal that the job's other ranks get when this rank fails to join with this error.
join::Refusal refusal_of(const Error& error, int rank);

}  // namespace infold::rank
