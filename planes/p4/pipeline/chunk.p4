// SPDX-License-Identifier: Apache-2.0
//
// Recalls what is stored of the packet's chunk besides its elements, as core::Adder::recall() does.
// The sums do not wait for the signature. If a contribution's signature differs, it spoils its
// chunk, and nobody gets the sum.
#include "headers.p4"
#include "registers.p4"

control Signature(inout headers_t headers, inout metadata_t metadata) {
  TOUCH(write, signatures, signature_t, copy_place_t, bit<4>,
        stored.layout = headers.infold.layout;
        stored.shape = headers.infold.shape;)
  TOUCH_AND_TELL(compare, signatures, signature_t, copy_place_t, bit<4>, fits,
                 COMPARE_BOTH(fits, stored.layout == headers.infold.layout,
                              stored.shape == headers.infold.shape))
  action begin() {
    DO(write, metadata.copy)
    metadata.fits = BOTH_FIT;
  }
  action look() { GET(metadata.fits, compare, metadata.copy) }
  @stage(3)
  table signature {
    key = {
      metadata.verdict : exact;
      metadata.begins : exact;
    }
    actions = { begin; look; NoAction; }
    const default_action = NoAction();
    size = 2;
    const entries = {
      (ADMITTED, 0) : look();
      (ADMITTED, 1) : begin();
    }
  }
  apply { signature.apply(); }
}

// The controller reads the first worker when calls differ.
control First(inout headers_t headers, inout metadata_t metadata) {
  TOUCH(write, first_workers, worker_t, copy_place_t, worker_t, stored = headers.infold.worker;)
  action note() { DO(write, metadata.copy) }
  apply { note(); }
}

control State(inout metadata_t metadata) {
  TOUCH(clear, spoiled, flag_t, copy_place_t, flag_t, stored = 0;)
  TOUCH_AND_TELL(spoil, spoiled, flag_t, copy_place_t, flag_t, now,
                 stored = 1;
                 now = stored;)
  TOUCH_AND_TELL(read, spoiled, flag_t, copy_place_t, flag_t, now, now = stored;)
  action do_clear() { DO(clear, metadata.copy) }
  action do_spoil() { GET(metadata.is_spoiled, spoil, metadata.copy) }
  action do_read() { GET(metadata.is_spoiled, read, metadata.copy) }
  @stage(4)
  table states {
    key = {
      metadata.verdict : exact;
      metadata.changed : ternary;
      metadata.begins : ternary;
      metadata.fits : ternary;
    }
    actions = { do_clear; do_spoil; do_read; NoAction; }
    const default_action = NoAction();
    size = 4;
    const entries = {
      (ADMITTED, 1, 1, _) : do_clear();
      (ADMITTED, 1, 0, BOTH_FIT) : do_read();
      (ADMITTED, 1, 0, _) : do_spoil();
      (ADMITTED, _, _, _) : do_read();
    }
  }
  apply { states.apply(); }
}

// The last pass reads the digest.
control Contributors(inout headers_t headers, inout metadata_t metadata) {
  TOUCH_AND_TELL(write, counts, count_t, copy_place_t, bit<32>, contributors,
                 stored.contributors = (bit<32>)headers.infold.contributors;
                 stored.digest = headers.infold.digest;
                 contributors = stored.contributors;)
  TOUCH_AND_TELL(add, counts, count_t, copy_place_t, bit<32>, contributors,
                 stored.contributors = stored.contributors + (bit<32>)headers.infold.contributors;
                 stored.digest = stored.digest + headers.infold.digest;
                 contributors = stored.contributors;)
  TOUCH_AND_TELL(read_digest, counts, count_t, copy_place_t, bit<32>, digest,
                 digest = stored.digest;)
  action do_write() { GET_PART(headers.again.count, bit<16>, bit<32>, write, metadata.copy) }
  action do_add() { GET_PART(headers.again.count, bit<16>, bit<32>, add, metadata.copy) }
  action do_read_digest() { GET(headers.infold.digest, read_digest, metadata.copy) }
  @stage(11)
  table contributors {
    key = {
      metadata.operation : exact;
      metadata.fits : ternary;
    }
    actions = { do_write; do_add; do_read_digest; NoAction; }
    const default_action = NoAction();
    size = 8;
    const entries = {
      (operation_on_pair_t.write, _) : do_write();
      (operation_on_pair_t.add, BOTH_FIT) : do_add();
      (operation_on_pair_t.max, BOTH_FIT) : do_add();
      (operation_on_pair_t.read_high, _) : do_read_digest();
      MORE_COUNTS
    }
  }

  TOUCH(write_last, last_workers, worker_t, copy_place_t, worker_t,
        stored = headers.infold.worker;)
  TOUCH_AND_TELL(read_last, last_workers, worker_t, copy_place_t, worker_t, worker,
                 worker = stored;)
  action do_write_last() { DO(write_last, metadata.copy) }
  action do_read_last() { GET(headers.infold.worker, read_last, metadata.copy) }
  @stage(11)
  table last {
    key = {
      metadata.completes : exact;
      metadata.operation : exact;
    }
    actions = { do_write_last; do_read_last; NoAction; }
    const default_action = NoAction();
    size = 16;
    const entries = {
      (1, operation_on_pair_t.write) : do_write_last();
      (1, operation_on_pair_t.add) : do_write_last();
      (1, operation_on_pair_t.max) : do_write_last();
      (0, operation_on_pair_t.read_high) : do_read_last();
      MORE_LAST_WORKERS
    }
  }

  apply {
    contributors.apply();
    last.apply();
  }
}
