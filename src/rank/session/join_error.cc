// SPDX-License-Identifier: Apache-2.0
#include "rank/session/join_error.h"

#include <string_view>

#include "base/plain_text.h"
#include "join/refusals.h"

namespace infold::rank {
namespace {

constexpr std::string_view kPrefix = "join: ";

Code code_of(join::RefusalReason reason) {
  switch (reason) {
    case join::RefusalReason::invalid:
    case join::RefusalReason::not_permitted: return Code::invalid_argument;
    case join::RefusalReason::mismatch: return Code::mismatch;
    case join::RefusalReason::full: return Code::resource_exhausted;
    case join::RefusalReason::too_late: return Code::deadline_exceeded;
    case join::RefusalReason::given_up: return Code::cancelled;
    case join::RefusalReason::in_use:
    case join::RefusalReason::broken:
    case join::RefusalReason::stopping: break;
  }
  return Code::unavailable;
}

join::RefusalReason reason_of(Code code) {
  switch (code) {
    case Code::invalid_argument: return join::RefusalReason::invalid;
    case Code::mismatch: return join::RefusalReason::mismatch;
    case Code::resource_exhausted: return join::RefusalReason::full;
    case Code::deadline_exceeded: return join::RefusalReason::too_late;
    default: return join::RefusalReason::stopping;
  }
}

}  // namespace

Error join_error(Code code, const std::string& message, int rank) {
  return {code, std::string(kPrefix) + base::plain_text(message), rank, ""};
}

Error unavailable(const std::string& subject, const base::Error& error) {
  return unavailable(subject + " " + error.detail);
}

Error error_of(const join::Refusal& refusal) {
  return join_error(code_of(refusal.reason), refusal.message, refusal.rank);
}

join::Refusal refusal_of(const Error& error, int rank) {
  const std::size_t start = error.message.starts_with(kPrefix) ? kPrefix.size() : 0;
  join::Refusal why = join::refusal(join::sentences::kRankFails, rank, error.message.substr(start));
  why.reason = reason_of(error.code);
  why.rank = rank;
  return why;
}

}  // namespace infold::rank
