// SPDX-License-Identifier: Apache-2.0
#include "core/aggregator/aggregator.h"

namespace infold::core {

const char* verdict_name(Verdict verdict) {
  switch (verdict) {
    case Verdict::contributed: return "contributed";
    case Verdict::completed: return "completed";
    case Verdict::replayed: return "replayed";
    case Verdict::answered_pending: return "answered_pending";
    case Verdict::forwarded_again: return "forwarded_again";
    case Verdict::delivered: return "delivered";
    case Verdict::job_ended: return "job_ended";
    case Verdict::answered_ended: return "answered_ended";
    case Verdict::dropped_malformed: return "dropped_malformed";
    case Verdict::dropped_foreign_job: return "dropped_foreign_job";
    case Verdict::dropped_stale_epoch: return "dropped_stale_epoch";
    case Verdict::dropped_tag: return "dropped_tag";
    case Verdict::dropped_wrong_way: return "dropped_wrong_way";
    case Verdict::dropped_bad_worker: return "dropped_bad_worker";
    case Verdict::dropped_wrong_source: return "dropped_wrong_source";
    case Verdict::dropped_bad_slot: return "dropped_bad_slot";
    case Verdict::dropped_stale_round: return "dropped_stale_round";
    case Verdict::dropped_early_round: return "dropped_early_round";
    case Verdict::dropped_repeat: return "dropped_repeat";
    case Verdict::dropped_limits: return "dropped_limits";
    case Verdict::dropped_part: return "dropped_part";
    case Verdict::count_: break;
  }
  return "unknown";
}

}  // namespace infold::core
