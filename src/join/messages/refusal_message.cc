// SPDX-License-Identifier: Apache-2.0
#include "join/messages/refusal_message.h"

namespace infold::join {
namespace {

v1::Refused::Reason wire_reason(RefusalReason reason) {
  switch (reason) {
    case RefusalReason::invalid: return v1::Refused::INVALID;
    case RefusalReason::in_use: return v1::Refused::JOB_IN_USE;
    case RefusalReason::mismatch: return v1::Refused::MISMATCH;
    case RefusalReason::full: return v1::Refused::FULL;
    case RefusalReason::too_late: return v1::Refused::TOO_LATE;
    case RefusalReason::stopping: return v1::Refused::STOPPING;
    case RefusalReason::not_permitted: return v1::Refused::NOT_PERMITTED;
    case RefusalReason::given_up:
    case RefusalReason::broken: break;
  }
  return v1::Refused::UNKNOWN;
}

RefusalReason reason_of(v1::Refused::Reason reason) {
  switch (reason) {
    case v1::Refused::JOB_IN_USE: return RefusalReason::in_use;
    case v1::Refused::MISMATCH: return RefusalReason::mismatch;
    case v1::Refused::FULL: return RefusalReason::full;
    case v1::Refused::TOO_LATE: return RefusalReason::too_late;
    case v1::Refused::STOPPING: return RefusalReason::stopping;
    case v1::Refused::NOT_PERMITTED: return RefusalReason::not_permitted;
    default: return RefusalReason::invalid;
  }
}

}  // namespace

v1::Refused refused_of(const Refusal& refusal) {
  v1::Refused refused;
  refused.set_reason(wire_reason(refusal.reason));
  refused.set_message(refusal.message);
  refused.set_rank(refusal.rank);
  return refused;
}

Refusal refusal_of(const v1::Refused& refused) {
  return {reason_of(refused.reason()), refused.message(), refused.rank()};
}

}  // namespace infold::join
