// SPDX-License-Identifier: Apache-2.0
//
// Which packets reach the slots: R-004 to R-007, in the order that the counters show. Everything
// here is a comparison with the entry of a table. The controller writes the entries.
#include "headers.p4"

control Admission(inout headers_t headers, inout metadata_t metadata) {
  // This switch's address and port. All other packets are a switch's business.
  action take() {
    metadata.host_mac = headers.ethernet.to;
    metadata.host = headers.ipv4.to;
    metadata.host_port = headers.udp.to;
    metadata.verdict = verdict_t.to_host;
  }
  action pass() {}
  table addresses {
    key = {
      headers.ipv4.to : exact;
      headers.udp.to : exact;
    }
    actions = { take; pass; }
    default_action = pass();
    size = 4;
  }

  action drop(verdict_t why) { metadata.verdict = why; }

  // What kinds and flags there are (R-002, R-003), and which of them are for the controller. A tag
  // comes after the checks of R-004, and the pipeline sums for no job with keys.
  action continue_() { metadata.verdict = verdict_t.none; }
  action give_to_host() { metadata.verdict = verdict_t.to_host; }
  table kinds {
    key = {
      headers.infold.version : exact;
      headers.infold.kind : exact;
      headers.infold.flags : ternary;
    }
    actions = { continue_; give_to_host; drop; }
    default_action = drop(verdict_t.dropped_malformed);
    const entries = {
      (VERSION, KIND_ADD, 0x00) : continue_();
      (VERSION, KIND_SKIP, 0x00) : continue_();
      (VERSION, KIND_QUERY, 0x00) : continue_();
      (VERSION, KIND_ABORT, _) : give_to_host();
      (VERSION, KIND_RESULT, _) : drop(verdict_t.dropped_wrong_way);
      (VERSION, KIND_REALIGN, _) : drop(verdict_t.dropped_wrong_way);
      (VERSION, KIND_PENDING, _) : drop(verdict_t.dropped_wrong_way);
      (VERSION, KIND_ABORTED, _) : drop(verdict_t.dropped_wrong_way);
      (VERSION, KIND_ADD, 0x04 &&& 0xF5) : drop(verdict_t.dropped_tag);
      (VERSION, KIND_SKIP, 0x04 &&& 0xFF) : drop(verdict_t.dropped_tag);
      (VERSION, KIND_QUERY, 0x04 &&& 0xFF) : drop(verdict_t.dropped_tag);
    }
  }

  // Bytes 18 and 19 (R-020). Formats that this plane does not sum are beyond the job's limits.
  table formats {
    key = {
      headers.infold.dtype : range;
      headers.infold.format : range;
      headers.infold.collective : range;
      headers.infold.reduction : range;
    }
    actions = { continue_; drop; }
    default_action = drop(verdict_t.dropped_malformed);
    const entries = {
      (0 .. 7, 0 .. 2, 0 .. 3, 0 .. 4) : continue_();
      (0 .. 7, 3 .. 3, 0 .. 3, 0 .. 4) : drop(verdict_t.dropped_limits);
      (0 .. 3, 4 .. 7, 0 .. 3, 0 .. 1) : drop(verdict_t.dropped_limits);
    }
  }

  action set_job(job_index_t index, bit<32> epoch, slot_index_t first_slot, bit<16> slots,
                 bit<16> elements_max, workers_t all, bit<16> multicast, bit<1> has_ended) {
    metadata.job.index = index;
    metadata.job.epoch = epoch;
    metadata.job.first_slot = first_slot;
    metadata.job.slots = slots;
    metadata.job.elements_max = elements_max;
    metadata.job.all = all;
    metadata.job.multicast = multicast;
    metadata.job.has_ended = has_ended;
  }
  table jobs {
    key = { headers.infold.job : exact; }
    actions = { set_job; give_to_host; }
    default_action = give_to_host();
    size = JOBS_MAX;
  }

  action set_sender(workers_t bit_, ipv4_t address, bit<32> rank_digest, mac_t mac,
                    udp_port_t udp_port, port_t port) {
    metadata.sender.bit_ = bit_;
    metadata.sender.address = address;
    metadata.sender.digest = rank_digest;
    metadata.sender.mac = mac;
    metadata.sender.udp_port = udp_port;
    metadata.sender.port = port;
  }
  table senders {
    key = {
      metadata.job.index : exact;
      headers.infold.worker : exact;
    }
    actions = { set_sender; drop; }
    default_action = drop(verdict_t.dropped_bad_worker);
    size = SENDERS_MAX;
  }


  apply {
    if (!headers.udp.isValid()) return;
    if (addresses.apply().miss || !headers.infold.isValid()) return;
    kinds.apply();
    if (metadata.verdict != verdict_t.none && metadata.verdict != verdict_t.dropped_tag) return;
    bool is_tagged = metadata.verdict == verdict_t.dropped_tag;
    formats.apply();
    bool is_summed = metadata.verdict == verdict_t.none;
    if (metadata.verdict == verdict_t.dropped_malformed) return;
    bool is_add = headers.infold.kind == KIND_ADD;
    bool has_fields = headers.infold.contributors != 0 || headers.infold.weight != 0 ||
                            headers.infold.digest != 0;
    metadata.verdict = verdict_t.dropped_malformed;
    bit<32> tag_bytes = is_tagged ? 32w16 : 0;
    if (!is_add && (has_fields || (bit<32>)metadata.body_bytes != tag_bytes)) return;
    if (is_add && headers.infold.contributors == 0) return;
    bit<32> body_bytes = (bit<32>)headers.infold.elements;
    if (headers.infold.format == FORMAT_I16) body_bytes = body_bytes << 1;
    if (headers.infold.format == FORMAT_I32) body_bytes = body_bytes << 2;
    if (headers.infold.format == FORMAT_I64) body_bytes = body_bytes << 3;
    bool is_integer = headers.infold.format <= FORMAT_I64;
    if (is_integer && body_bytes > PAYLOAD_BYTES_MAX) return;
    if (is_add && is_integer && body_bytes + tag_bytes != (bit<32>)metadata.body_bytes) {
      return;
    }
    // The frame may be shorter than its headers say.
    if (headers.ipv4.bytes < 20 + headers.udp.bytes) return;
    if (is_add && is_summed && headers.infold.elements <= ELEMENTS_MAX &&
        headers.infold.elements != metadata.elements_there) {
      return;
    }

    metadata.verdict = verdict_t.none;
    jobs.apply();
    if (metadata.verdict != verdict_t.none) return;
    metadata.verdict = verdict_t.dropped_stale_epoch;
    if (headers.infold.epoch != metadata.job.epoch) return;
    metadata.verdict = verdict_t.dropped_tag;
    if (is_tagged) return;
    metadata.verdict = verdict_t.none;
    senders.apply();
    if (metadata.verdict != verdict_t.none) return;
    metadata.verdict = verdict_t.dropped_wrong_source;
    if (headers.ipv4.from != metadata.sender.address) return;
    metadata.verdict = verdict_t.dropped_bad_slot;
    if (headers.infold.slot >= metadata.job.slots) return;
    metadata.verdict = verdict_t.dropped_limits;
    if (!is_summed || headers.infold.elements > metadata.job.elements_max) return;
    metadata.verdict = verdict_t.dropped_malformed;
    if (is_add && (headers.infold.contributors != 1 || headers.infold.weight != 1 ||
                   headers.infold.digest != metadata.sender.digest)) {
      return;
    }
    metadata.verdict = verdict_t.admitted;
    metadata.slot = metadata.job.first_slot + (bit<32>)headers.infold.slot;
    metadata.copy = metadata.slot << 1 | (bit<32>)headers.infold.round[0:0];
  }
}
