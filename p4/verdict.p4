// SPDX-License-Identifier: Apache-2.0
//
// What becomes of a packet that has passed the slot and the chunk's registers:
// core::Adder::pass_through().
#include "headers.p4"

control Verdict(inout headers_t headers, inout metadata_t metadata) {
  apply {
    bool is_here = metadata.chunk.round == headers.infold.round;
    bool is_answer = is_here && metadata.chunk.state == COMPLETE;
    bool is_new = metadata.standing.is_new == 1;
    metadata.is_answer = 0;
    if (is_here && metadata.chunk.state == SPOILED) {
      metadata.verdict = verdict_t.to_host;  // calls differ (R-082)
    } else if (is_answer) {
      metadata.is_answer = 1;
      metadata.verdict = verdict_t.replayed;
      if (metadata.standing.completes == 1) metadata.verdict = verdict_t.completed;
    } else if (metadata.standing.is_open == 0) {
      round_t ahead = headers.infold.round - metadata.chunk.round;
      metadata.verdict = verdict_t.dropped_early_round;
      if (ahead == 0 || ahead[31:31] == 1) metadata.verdict = verdict_t.dropped_stale_round;
    } else if (metadata.job.has_ended == 1) {
      metadata.verdict = verdict_t.to_host;
    } else if (is_new) {
      metadata.verdict = verdict_t.contributed;
    } else {
      metadata.verdict = verdict_t.answered_pending;
    }
    // An answer has no elements of a packet that is not summed.
    if (metadata.adds == 0 && metadata.verdict != verdict_t.to_host) {
      headers.elements8.pop_front(ELEMENTS_MAX);
      headers.elements16.pop_front(ELEMENTS_MAX);
      headers.elements32.pop_front(ELEMENTS_MAX);
    }
  }
}
