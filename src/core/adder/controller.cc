// SPDX-License-Identifier: Apache-2.0
//
// The program beside the pipeline. It ends jobs (spec section 8), and reads and writes registers
// between packets.
#include <algorithm>

#include "core/adder/adder.h"

namespace infold::core {

void Adder::end(const Abort& abort) {
  outgoing_.reset();
  if (abort_) return;
  abort_ = abort;
  send_end(To::all_workers, 0);
}

// The pipeline has already recorded the contribution in the slot. The controller takes it back,
// because after the end of the job the slot still decides how repeats are answered.
Verdict Adder::hear_mismatch(const Header& header, const Standing& standing, const Chunk& chunk) {
  if (controller_ == Controller::hears_too_late) return Verdict::job_ended;
  slots_[header.slot] = {.open = header.round, .seen = standing.seen};
  end({AbortReason::mismatch, options_.workers[header.worker].first,
       options_.workers[chunk.first].first, header.signature, chunk.signature});
  return Verdict::job_ended;
}

Verdict Adder::handle_abort(const Packet& packet) {
  const std::optional<Abort> abort = read_abort(packet.body);
  if (!abort || !names_members(*abort, options_.world)) return Verdict::dropped_malformed;
  const std::uint8_t worker = packet.header.worker;
  if (abort_) {
    send_end(To::worker, worker);
    return Verdict::answered_ended;
  }
  const bool all_hear = abort->reason != AbortReason::left || some_chunk_waits_for(worker);
  abort_ = *abort;
  send_end(all_hear ? To::all_workers : To::worker, all_hear ? 0 : worker);
  return Verdict::job_ended;
}

bool Adder::some_chunk_waits_for(std::uint8_t worker) const {
  for (std::size_t slot = 0; slot < options_.slot_count; ++slot) {
    const std::uint32_t seen = slots_[slot].seen;
    if (seen != 0 && (seen >> worker & 1) == 0) return true;
  }
  return false;
}

void Adder::send_end(To to, std::uint8_t worker) {
  Header header = job_header(Kind::aborted);
  header.worker = worker;
  write_header(header, notice_);
  write_abort(*abort_, notice_.data() + INFOLD_HEADER_BYTES);
  send(to, worker, std::span(notice_).first(INFOLD_HEADER_BYTES + sizeof(infold_abort)));
}

}  // namespace infold::core
