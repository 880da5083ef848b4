// SPDX-License-Identifier: Apache-2.0
//
// What is stored of the packet's chunk, beside its elements: core::Adder::recall(). The sums do not
// wait for the signature. A contribution that differs spoils its chunk, and nobody gets that sum.
struct signature_t {
  bit<32> layout;
  bit<32> shape;
}
// As the register's two comparisons answer.
const bit<4> BOTH_FIT = 8;

control Signature(inout headers_t headers, inout metadata_t metadata) {
  Register<signature_t, copy_place_t>(1 << COPY_BITS) signatures;
  RegisterAction<signature_t, copy_place_t, bit<4>>(signatures) write = {
    void apply(inout signature_t stored) {
      stored.layout = headers.infold.layout;
      stored.shape = headers.infold.shape;
    }
  };
  RegisterAction<signature_t, copy_place_t, bit<4>>(signatures) compare = {
    void apply(inout signature_t stored, out bit<4> fits) {
      fits = this.predicate(stored.layout == headers.infold.layout,
                            stored.shape == headers.infold.shape);
    }
  };
  action begin() {
    write.execute(metadata.copy);
    metadata.fits = BOTH_FIT;
  }
  action look() { metadata.fits = compare.execute(metadata.copy); }
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

// For the controller, when calls differ.
control First(inout headers_t headers, inout metadata_t metadata) {
  Register<worker_t, copy_place_t>(1 << COPY_BITS) first_workers;
  RegisterAction<worker_t, copy_place_t, worker_t>(first_workers) write = {
    void apply(inout worker_t first) { first = headers.infold.worker; }
  };
  action note() { write.execute(metadata.copy); }
  apply { note(); }
}

control Spoiled(inout metadata_t metadata) {
  Register<bit<8>, copy_place_t>(1 << COPY_BITS) spoiled;
  RegisterAction<bit<8>, copy_place_t, bit<8>>(spoiled) clear = {
    void apply(inout bit<8> is_spoiled) { is_spoiled = 0; }
  };
  RegisterAction<bit<8>, copy_place_t, bit<8>>(spoiled) spoil = {
    void apply(inout bit<8> is_spoiled, out bit<8> now) {
      is_spoiled = 1;
      now = is_spoiled;
    }
  };
  RegisterAction<bit<8>, copy_place_t, bit<8>>(spoiled) read = {
    void apply(inout bit<8> is_spoiled, out bit<8> now) { now = is_spoiled; }
  };
  action do_clear() { clear.execute(metadata.copy); }
  action do_spoil() { metadata.is_spoiled = spoil.execute(metadata.copy); }
  action do_read() { metadata.is_spoiled = read.execute(metadata.copy); }
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

// Who has contributed. The digest is read in the last pass.
struct count_t {
  bit<32> contributors;
  bit<32> digest;
}

control Contributors(inout headers_t headers, inout metadata_t metadata) {
  Register<count_t, copy_place_t>(1 << COPY_BITS) counts;
  RegisterAction<count_t, copy_place_t, bit<32>>(counts) write = {
    void apply(inout count_t stored, out bit<32> contributors) {
      stored.contributors = (bit<32>)headers.infold.contributors;
      stored.digest = headers.infold.digest;
      contributors = stored.contributors;
    }
  };
  RegisterAction<count_t, copy_place_t, bit<32>>(counts) add = {
    void apply(inout count_t stored, out bit<32> contributors) {
      stored.contributors = stored.contributors + (bit<32>)headers.infold.contributors;
      stored.digest = stored.digest + headers.infold.digest;
      contributors = stored.contributors;
    }
  };
  RegisterAction<count_t, copy_place_t, bit<32>>(counts) read_digest = {
    void apply(inout count_t stored, out bit<32> digest) { digest = stored.digest; }
  };
  action do_write() { headers.again.count = (bit<16>)write.execute(metadata.copy); }
  action do_add() { headers.again.count = (bit<16>)add.execute(metadata.copy); }
  action do_read_digest() { headers.infold.digest = read_digest.execute(metadata.copy); }
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
    }
  }

  Register<worker_t, copy_place_t>(1 << COPY_BITS) last_workers;
  RegisterAction<worker_t, copy_place_t, worker_t>(last_workers) write_last = {
    void apply(inout worker_t last) { last = headers.infold.worker; }
  };
  RegisterAction<worker_t, copy_place_t, worker_t>(last_workers) read_last = {
    void apply(inout worker_t last, out worker_t worker) { worker = last; }
  };
  action do_write_last() { write_last.execute(metadata.copy); }
  action do_read_last() { headers.infold.worker = read_last.execute(metadata.copy); }
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
    }
  }

  apply {
    contributors.apply();
    last.apply();
  }
}
