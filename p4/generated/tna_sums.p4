// SPDX-License-Identifier: Apache-2.0
//
// The sums on Tofino, a register for each pair of elements.
// Written by tools/p4_elements.py.
struct pair_t {
  element_t low;
  element_t high;
}

control Sums(inout headers_t headers, inout metadata_t metadata) {
  Register<pair_t, copy_place_t>(1 << COPY_BITS) sums0;
  RegisterAction<pair_t, copy_place_t, element_t>(sums0) write0 = {
    void apply(inout pair_t sum, out element_t low) {
      sum.low = headers.lanes32.element0;
      sum.high = headers.lanes16.element0;
      low = sum.low;
    }
  };
  RegisterAction<pair_t, copy_place_t, element_t>(sums0) add0 = {
    void apply(inout pair_t sum, out element_t low) {
      sum.low = sum.low + headers.lanes32.element0;
      sum.high = sum.high + headers.lanes16.element0;
      low = sum.low;
    }
  };
  RegisterAction<pair_t, copy_place_t, element_t>(sums0) max0 = {
    void apply(inout pair_t sum, out element_t low) {
      if ((int<32>)headers.lanes32.element0 > (int<32>)sum.low) sum.low = headers.lanes32.element0;
      if ((int<32>)headers.lanes16.element0 > (int<32>)sum.high) sum.high = headers.lanes16.element0;
      low = sum.low;
    }
  };
  RegisterAction<pair_t, copy_place_t, element_t>(sums0) read_high0 = {
    void apply(inout pair_t sum, out element_t high) { high = sum.high; }
  };
  action do_write0() { headers.lanes32.element0 = write0.execute(metadata.copy); }
  action do_add0() { headers.lanes32.element0 = add0.execute(metadata.copy); }
  action do_max0() { headers.lanes32.element0 = max0.execute(metadata.copy); }
  action do_read_high0() { headers.lanes16.element0 = read_high0.execute(metadata.copy); }
  @stage(3)
  table sum0 {
    key = {
      metadata.operation : exact;
      headers.lanes16.isValid() : ternary;
    }
    actions = { do_write0; do_add0; do_max0; do_read_high0; NoAction; }
    const default_action = NoAction();
    size = 8;
    const entries = {
      (operation_on_pair_t.write, _) : do_write0();
      (operation_on_pair_t.add, _) : do_add0();
      (operation_on_pair_t.max, _) : do_max0();
      (operation_on_pair_t.read_high, true) : do_read_high0();
    }
  }

  Register<pair_t, copy_place_t>(1 << COPY_BITS) sums1;
  RegisterAction<pair_t, copy_place_t, element_t>(sums1) write1 = {
    void apply(inout pair_t sum, out element_t low) {
      sum.low = headers.lanes32.element1;
      sum.high = headers.lanes16.element1;
      low = sum.low;
    }
  };
  RegisterAction<pair_t, copy_place_t, element_t>(sums1) add1 = {
    void apply(inout pair_t sum, out element_t low) {
      sum.low = sum.low + headers.lanes32.element1;
      sum.high = sum.high + headers.lanes16.element1;
      low = sum.low;
    }
  };
  RegisterAction<pair_t, copy_place_t, element_t>(sums1) max1 = {
    void apply(inout pair_t sum, out element_t low) {
      if ((int<32>)headers.lanes32.element1 > (int<32>)sum.low) sum.low = headers.lanes32.element1;
      if ((int<32>)headers.lanes16.element1 > (int<32>)sum.high) sum.high = headers.lanes16.element1;
      low = sum.low;
    }
  };
  RegisterAction<pair_t, copy_place_t, element_t>(sums1) read_high1 = {
    void apply(inout pair_t sum, out element_t high) { high = sum.high; }
  };
  action do_write1() { headers.lanes32.element1 = write1.execute(metadata.copy); }
  action do_add1() { headers.lanes32.element1 = add1.execute(metadata.copy); }
  action do_max1() { headers.lanes32.element1 = max1.execute(metadata.copy); }
  action do_read_high1() { headers.lanes16.element1 = read_high1.execute(metadata.copy); }
  @stage(3)
  table sum1 {
    key = {
      metadata.operation : exact;
      headers.lanes16.isValid() : ternary;
    }
    actions = { do_write1; do_add1; do_max1; do_read_high1; NoAction; }
    const default_action = NoAction();
    size = 8;
    const entries = {
      (operation_on_pair_t.write, _) : do_write1();
      (operation_on_pair_t.add, _) : do_add1();
      (operation_on_pair_t.max, _) : do_max1();
      (operation_on_pair_t.read_high, true) : do_read_high1();
    }
  }

  Register<pair_t, copy_place_t>(1 << COPY_BITS) sums2;
  RegisterAction<pair_t, copy_place_t, element_t>(sums2) write2 = {
    void apply(inout pair_t sum, out element_t low) {
      sum.low = headers.lanes32.element2;
      sum.high = headers.lanes16.element2;
      low = sum.low;
    }
  };
  RegisterAction<pair_t, copy_place_t, element_t>(sums2) add2 = {
    void apply(inout pair_t sum, out element_t low) {
      sum.low = sum.low + headers.lanes32.element2;
      sum.high = sum.high + headers.lanes16.element2;
      low = sum.low;
    }
  };
  RegisterAction<pair_t, copy_place_t, element_t>(sums2) max2 = {
    void apply(inout pair_t sum, out element_t low) {
      if ((int<32>)headers.lanes32.element2 > (int<32>)sum.low) sum.low = headers.lanes32.element2;
      if ((int<32>)headers.lanes16.element2 > (int<32>)sum.high) sum.high = headers.lanes16.element2;
      low = sum.low;
    }
  };
  RegisterAction<pair_t, copy_place_t, element_t>(sums2) read_high2 = {
    void apply(inout pair_t sum, out element_t high) { high = sum.high; }
  };
  action do_write2() { headers.lanes32.element2 = write2.execute(metadata.copy); }
  action do_add2() { headers.lanes32.element2 = add2.execute(metadata.copy); }
  action do_max2() { headers.lanes32.element2 = max2.execute(metadata.copy); }
  action do_read_high2() { headers.lanes16.element2 = read_high2.execute(metadata.copy); }
  @stage(3)
  table sum2 {
    key = {
      metadata.operation : exact;
      headers.lanes16.isValid() : ternary;
    }
    actions = { do_write2; do_add2; do_max2; do_read_high2; NoAction; }
    const default_action = NoAction();
    size = 8;
    const entries = {
      (operation_on_pair_t.write, _) : do_write2();
      (operation_on_pair_t.add, _) : do_add2();
      (operation_on_pair_t.max, _) : do_max2();
      (operation_on_pair_t.read_high, true) : do_read_high2();
    }
  }

  Register<pair_t, copy_place_t>(1 << COPY_BITS) sums3;
  RegisterAction<pair_t, copy_place_t, element_t>(sums3) write3 = {
    void apply(inout pair_t sum, out element_t low) {
      sum.low = headers.lanes32.element3;
      sum.high = headers.lanes16.element3;
      low = sum.low;
    }
  };
  RegisterAction<pair_t, copy_place_t, element_t>(sums3) add3 = {
    void apply(inout pair_t sum, out element_t low) {
      sum.low = sum.low + headers.lanes32.element3;
      sum.high = sum.high + headers.lanes16.element3;
      low = sum.low;
    }
  };
  RegisterAction<pair_t, copy_place_t, element_t>(sums3) max3 = {
    void apply(inout pair_t sum, out element_t low) {
      if ((int<32>)headers.lanes32.element3 > (int<32>)sum.low) sum.low = headers.lanes32.element3;
      if ((int<32>)headers.lanes16.element3 > (int<32>)sum.high) sum.high = headers.lanes16.element3;
      low = sum.low;
    }
  };
  RegisterAction<pair_t, copy_place_t, element_t>(sums3) read_high3 = {
    void apply(inout pair_t sum, out element_t high) { high = sum.high; }
  };
  action do_write3() { headers.lanes32.element3 = write3.execute(metadata.copy); }
  action do_add3() { headers.lanes32.element3 = add3.execute(metadata.copy); }
  action do_max3() { headers.lanes32.element3 = max3.execute(metadata.copy); }
  action do_read_high3() { headers.lanes16.element3 = read_high3.execute(metadata.copy); }
  @stage(4)
  table sum3 {
    key = {
      metadata.operation : exact;
      headers.lanes16.isValid() : ternary;
    }
    actions = { do_write3; do_add3; do_max3; do_read_high3; NoAction; }
    const default_action = NoAction();
    size = 8;
    const entries = {
      (operation_on_pair_t.write, _) : do_write3();
      (operation_on_pair_t.add, _) : do_add3();
      (operation_on_pair_t.max, _) : do_max3();
      (operation_on_pair_t.read_high, true) : do_read_high3();
    }
  }

  Register<pair_t, copy_place_t>(1 << COPY_BITS) sums4;
  RegisterAction<pair_t, copy_place_t, element_t>(sums4) write4 = {
    void apply(inout pair_t sum, out element_t low) {
      sum.low = headers.lanes32.element4;
      sum.high = headers.lanes16.element4;
      low = sum.low;
    }
  };
  RegisterAction<pair_t, copy_place_t, element_t>(sums4) add4 = {
    void apply(inout pair_t sum, out element_t low) {
      sum.low = sum.low + headers.lanes32.element4;
      sum.high = sum.high + headers.lanes16.element4;
      low = sum.low;
    }
  };
  RegisterAction<pair_t, copy_place_t, element_t>(sums4) max4 = {
    void apply(inout pair_t sum, out element_t low) {
      if ((int<32>)headers.lanes32.element4 > (int<32>)sum.low) sum.low = headers.lanes32.element4;
      if ((int<32>)headers.lanes16.element4 > (int<32>)sum.high) sum.high = headers.lanes16.element4;
      low = sum.low;
    }
  };
  RegisterAction<pair_t, copy_place_t, element_t>(sums4) read_high4 = {
    void apply(inout pair_t sum, out element_t high) { high = sum.high; }
  };
  action do_write4() { headers.lanes32.element4 = write4.execute(metadata.copy); }
  action do_add4() { headers.lanes32.element4 = add4.execute(metadata.copy); }
  action do_max4() { headers.lanes32.element4 = max4.execute(metadata.copy); }
  action do_read_high4() { headers.lanes16.element4 = read_high4.execute(metadata.copy); }
  @stage(4)
  table sum4 {
    key = {
      metadata.operation : exact;
      headers.lanes16.isValid() : ternary;
    }
    actions = { do_write4; do_add4; do_max4; do_read_high4; NoAction; }
    const default_action = NoAction();
    size = 8;
    const entries = {
      (operation_on_pair_t.write, _) : do_write4();
      (operation_on_pair_t.add, _) : do_add4();
      (operation_on_pair_t.max, _) : do_max4();
      (operation_on_pair_t.read_high, true) : do_read_high4();
    }
  }

  Register<pair_t, copy_place_t>(1 << COPY_BITS) sums5;
  RegisterAction<pair_t, copy_place_t, element_t>(sums5) write5 = {
    void apply(inout pair_t sum, out element_t low) {
      sum.low = headers.lanes32.element5;
      sum.high = headers.lanes16.element5;
      low = sum.low;
    }
  };
  RegisterAction<pair_t, copy_place_t, element_t>(sums5) add5 = {
    void apply(inout pair_t sum, out element_t low) {
      sum.low = sum.low + headers.lanes32.element5;
      sum.high = sum.high + headers.lanes16.element5;
      low = sum.low;
    }
  };
  RegisterAction<pair_t, copy_place_t, element_t>(sums5) max5 = {
    void apply(inout pair_t sum, out element_t low) {
      if ((int<32>)headers.lanes32.element5 > (int<32>)sum.low) sum.low = headers.lanes32.element5;
      if ((int<32>)headers.lanes16.element5 > (int<32>)sum.high) sum.high = headers.lanes16.element5;
      low = sum.low;
    }
  };
  RegisterAction<pair_t, copy_place_t, element_t>(sums5) read_high5 = {
    void apply(inout pair_t sum, out element_t high) { high = sum.high; }
  };
  action do_write5() { headers.lanes32.element5 = write5.execute(metadata.copy); }
  action do_add5() { headers.lanes32.element5 = add5.execute(metadata.copy); }
  action do_max5() { headers.lanes32.element5 = max5.execute(metadata.copy); }
  action do_read_high5() { headers.lanes16.element5 = read_high5.execute(metadata.copy); }
  @stage(4)
  table sum5 {
    key = {
      metadata.operation : exact;
      headers.lanes16.isValid() : ternary;
    }
    actions = { do_write5; do_add5; do_max5; do_read_high5; NoAction; }
    const default_action = NoAction();
    size = 8;
    const entries = {
      (operation_on_pair_t.write, _) : do_write5();
      (operation_on_pair_t.add, _) : do_add5();
      (operation_on_pair_t.max, _) : do_max5();
      (operation_on_pair_t.read_high, true) : do_read_high5();
    }
  }

  Register<pair_t, copy_place_t>(1 << COPY_BITS) sums6;
  RegisterAction<pair_t, copy_place_t, element_t>(sums6) write6 = {
    void apply(inout pair_t sum, out element_t low) {
      sum.low = headers.lanes32.element6;
      sum.high = headers.lanes16.element6;
      low = sum.low;
    }
  };
  RegisterAction<pair_t, copy_place_t, element_t>(sums6) add6 = {
    void apply(inout pair_t sum, out element_t low) {
      sum.low = sum.low + headers.lanes32.element6;
      sum.high = sum.high + headers.lanes16.element6;
      low = sum.low;
    }
  };
  RegisterAction<pair_t, copy_place_t, element_t>(sums6) max6 = {
    void apply(inout pair_t sum, out element_t low) {
      if ((int<32>)headers.lanes32.element6 > (int<32>)sum.low) sum.low = headers.lanes32.element6;
      if ((int<32>)headers.lanes16.element6 > (int<32>)sum.high) sum.high = headers.lanes16.element6;
      low = sum.low;
    }
  };
  RegisterAction<pair_t, copy_place_t, element_t>(sums6) read_high6 = {
    void apply(inout pair_t sum, out element_t high) { high = sum.high; }
  };
  action do_write6() { headers.lanes32.element6 = write6.execute(metadata.copy); }
  action do_add6() { headers.lanes32.element6 = add6.execute(metadata.copy); }
  action do_max6() { headers.lanes32.element6 = max6.execute(metadata.copy); }
  action do_read_high6() { headers.lanes16.element6 = read_high6.execute(metadata.copy); }
  @stage(5)
  table sum6 {
    key = {
      metadata.operation : exact;
      headers.lanes16.isValid() : ternary;
    }
    actions = { do_write6; do_add6; do_max6; do_read_high6; NoAction; }
    const default_action = NoAction();
    size = 8;
    const entries = {
      (operation_on_pair_t.write, _) : do_write6();
      (operation_on_pair_t.add, _) : do_add6();
      (operation_on_pair_t.max, _) : do_max6();
      (operation_on_pair_t.read_high, true) : do_read_high6();
    }
  }

  Register<pair_t, copy_place_t>(1 << COPY_BITS) sums7;
  RegisterAction<pair_t, copy_place_t, element_t>(sums7) write7 = {
    void apply(inout pair_t sum, out element_t low) {
      sum.low = headers.lanes32.element7;
      sum.high = headers.lanes16.element7;
      low = sum.low;
    }
  };
  RegisterAction<pair_t, copy_place_t, element_t>(sums7) add7 = {
    void apply(inout pair_t sum, out element_t low) {
      sum.low = sum.low + headers.lanes32.element7;
      sum.high = sum.high + headers.lanes16.element7;
      low = sum.low;
    }
  };
  RegisterAction<pair_t, copy_place_t, element_t>(sums7) max7 = {
    void apply(inout pair_t sum, out element_t low) {
      if ((int<32>)headers.lanes32.element7 > (int<32>)sum.low) sum.low = headers.lanes32.element7;
      if ((int<32>)headers.lanes16.element7 > (int<32>)sum.high) sum.high = headers.lanes16.element7;
      low = sum.low;
    }
  };
  RegisterAction<pair_t, copy_place_t, element_t>(sums7) read_high7 = {
    void apply(inout pair_t sum, out element_t high) { high = sum.high; }
  };
  action do_write7() { headers.lanes32.element7 = write7.execute(metadata.copy); }
  action do_add7() { headers.lanes32.element7 = add7.execute(metadata.copy); }
  action do_max7() { headers.lanes32.element7 = max7.execute(metadata.copy); }
  action do_read_high7() { headers.lanes16.element7 = read_high7.execute(metadata.copy); }
  @stage(5)
  table sum7 {
    key = {
      metadata.operation : exact;
      headers.lanes16.isValid() : ternary;
    }
    actions = { do_write7; do_add7; do_max7; do_read_high7; NoAction; }
    const default_action = NoAction();
    size = 8;
    const entries = {
      (operation_on_pair_t.write, _) : do_write7();
      (operation_on_pair_t.add, _) : do_add7();
      (operation_on_pair_t.max, _) : do_max7();
      (operation_on_pair_t.read_high, true) : do_read_high7();
    }
  }

  Register<pair_t, copy_place_t>(1 << COPY_BITS) sums8;
  RegisterAction<pair_t, copy_place_t, element_t>(sums8) write8 = {
    void apply(inout pair_t sum, out element_t low) {
      sum.low = headers.lanes32.element8;
      sum.high = headers.lanes16.element8;
      low = sum.low;
    }
  };
  RegisterAction<pair_t, copy_place_t, element_t>(sums8) add8 = {
    void apply(inout pair_t sum, out element_t low) {
      sum.low = sum.low + headers.lanes32.element8;
      sum.high = sum.high + headers.lanes16.element8;
      low = sum.low;
    }
  };
  RegisterAction<pair_t, copy_place_t, element_t>(sums8) max8 = {
    void apply(inout pair_t sum, out element_t low) {
      if ((int<32>)headers.lanes32.element8 > (int<32>)sum.low) sum.low = headers.lanes32.element8;
      if ((int<32>)headers.lanes16.element8 > (int<32>)sum.high) sum.high = headers.lanes16.element8;
      low = sum.low;
    }
  };
  RegisterAction<pair_t, copy_place_t, element_t>(sums8) read_high8 = {
    void apply(inout pair_t sum, out element_t high) { high = sum.high; }
  };
  action do_write8() { headers.lanes32.element8 = write8.execute(metadata.copy); }
  action do_add8() { headers.lanes32.element8 = add8.execute(metadata.copy); }
  action do_max8() { headers.lanes32.element8 = max8.execute(metadata.copy); }
  action do_read_high8() { headers.lanes16.element8 = read_high8.execute(metadata.copy); }
  @stage(5)
  table sum8 {
    key = {
      metadata.operation : exact;
      headers.lanes16.isValid() : ternary;
    }
    actions = { do_write8; do_add8; do_max8; do_read_high8; NoAction; }
    const default_action = NoAction();
    size = 8;
    const entries = {
      (operation_on_pair_t.write, _) : do_write8();
      (operation_on_pair_t.add, _) : do_add8();
      (operation_on_pair_t.max, _) : do_max8();
      (operation_on_pair_t.read_high, true) : do_read_high8();
    }
  }

  Register<pair_t, copy_place_t>(1 << COPY_BITS) sums9;
  RegisterAction<pair_t, copy_place_t, element_t>(sums9) write9 = {
    void apply(inout pair_t sum, out element_t low) {
      sum.low = headers.lanes32.element9;
      sum.high = headers.lanes16.element9;
      low = sum.low;
    }
  };
  RegisterAction<pair_t, copy_place_t, element_t>(sums9) add9 = {
    void apply(inout pair_t sum, out element_t low) {
      sum.low = sum.low + headers.lanes32.element9;
      sum.high = sum.high + headers.lanes16.element9;
      low = sum.low;
    }
  };
  RegisterAction<pair_t, copy_place_t, element_t>(sums9) max9 = {
    void apply(inout pair_t sum, out element_t low) {
      if ((int<32>)headers.lanes32.element9 > (int<32>)sum.low) sum.low = headers.lanes32.element9;
      if ((int<32>)headers.lanes16.element9 > (int<32>)sum.high) sum.high = headers.lanes16.element9;
      low = sum.low;
    }
  };
  RegisterAction<pair_t, copy_place_t, element_t>(sums9) read_high9 = {
    void apply(inout pair_t sum, out element_t high) { high = sum.high; }
  };
  action do_write9() { headers.lanes32.element9 = write9.execute(metadata.copy); }
  action do_add9() { headers.lanes32.element9 = add9.execute(metadata.copy); }
  action do_max9() { headers.lanes32.element9 = max9.execute(metadata.copy); }
  action do_read_high9() { headers.lanes16.element9 = read_high9.execute(metadata.copy); }
  @stage(5)
  table sum9 {
    key = {
      metadata.operation : exact;
      headers.lanes16.isValid() : ternary;
    }
    actions = { do_write9; do_add9; do_max9; do_read_high9; NoAction; }
    const default_action = NoAction();
    size = 8;
    const entries = {
      (operation_on_pair_t.write, _) : do_write9();
      (operation_on_pair_t.add, _) : do_add9();
      (operation_on_pair_t.max, _) : do_max9();
      (operation_on_pair_t.read_high, true) : do_read_high9();
    }
  }

  Register<pair_t, copy_place_t>(1 << COPY_BITS) sums10;
  RegisterAction<pair_t, copy_place_t, element_t>(sums10) write10 = {
    void apply(inout pair_t sum, out element_t low) {
      sum.low = headers.lanes32.element10;
      sum.high = headers.lanes16.element10;
      low = sum.low;
    }
  };
  RegisterAction<pair_t, copy_place_t, element_t>(sums10) add10 = {
    void apply(inout pair_t sum, out element_t low) {
      sum.low = sum.low + headers.lanes32.element10;
      sum.high = sum.high + headers.lanes16.element10;
      low = sum.low;
    }
  };
  RegisterAction<pair_t, copy_place_t, element_t>(sums10) max10 = {
    void apply(inout pair_t sum, out element_t low) {
      if ((int<32>)headers.lanes32.element10 > (int<32>)sum.low) sum.low = headers.lanes32.element10;
      if ((int<32>)headers.lanes16.element10 > (int<32>)sum.high) sum.high = headers.lanes16.element10;
      low = sum.low;
    }
  };
  RegisterAction<pair_t, copy_place_t, element_t>(sums10) read_high10 = {
    void apply(inout pair_t sum, out element_t high) { high = sum.high; }
  };
  action do_write10() { headers.lanes32.element10 = write10.execute(metadata.copy); }
  action do_add10() { headers.lanes32.element10 = add10.execute(metadata.copy); }
  action do_max10() { headers.lanes32.element10 = max10.execute(metadata.copy); }
  action do_read_high10() { headers.lanes16.element10 = read_high10.execute(metadata.copy); }
  @stage(6)
  table sum10 {
    key = {
      metadata.operation : exact;
      headers.lanes16.isValid() : ternary;
    }
    actions = { do_write10; do_add10; do_max10; do_read_high10; NoAction; }
    const default_action = NoAction();
    size = 8;
    const entries = {
      (operation_on_pair_t.write, _) : do_write10();
      (operation_on_pair_t.add, _) : do_add10();
      (operation_on_pair_t.max, _) : do_max10();
      (operation_on_pair_t.read_high, true) : do_read_high10();
    }
  }

  Register<pair_t, copy_place_t>(1 << COPY_BITS) sums11;
  RegisterAction<pair_t, copy_place_t, element_t>(sums11) write11 = {
    void apply(inout pair_t sum, out element_t low) {
      sum.low = headers.lanes32.element11;
      sum.high = headers.lanes16.element11;
      low = sum.low;
    }
  };
  RegisterAction<pair_t, copy_place_t, element_t>(sums11) add11 = {
    void apply(inout pair_t sum, out element_t low) {
      sum.low = sum.low + headers.lanes32.element11;
      sum.high = sum.high + headers.lanes16.element11;
      low = sum.low;
    }
  };
  RegisterAction<pair_t, copy_place_t, element_t>(sums11) max11 = {
    void apply(inout pair_t sum, out element_t low) {
      if ((int<32>)headers.lanes32.element11 > (int<32>)sum.low) sum.low = headers.lanes32.element11;
      if ((int<32>)headers.lanes16.element11 > (int<32>)sum.high) sum.high = headers.lanes16.element11;
      low = sum.low;
    }
  };
  RegisterAction<pair_t, copy_place_t, element_t>(sums11) read_high11 = {
    void apply(inout pair_t sum, out element_t high) { high = sum.high; }
  };
  action do_write11() { headers.lanes32.element11 = write11.execute(metadata.copy); }
  action do_add11() { headers.lanes32.element11 = add11.execute(metadata.copy); }
  action do_max11() { headers.lanes32.element11 = max11.execute(metadata.copy); }
  action do_read_high11() { headers.lanes16.element11 = read_high11.execute(metadata.copy); }
  @stage(6)
  table sum11 {
    key = {
      metadata.operation : exact;
      headers.lanes16.isValid() : ternary;
    }
    actions = { do_write11; do_add11; do_max11; do_read_high11; NoAction; }
    const default_action = NoAction();
    size = 8;
    const entries = {
      (operation_on_pair_t.write, _) : do_write11();
      (operation_on_pair_t.add, _) : do_add11();
      (operation_on_pair_t.max, _) : do_max11();
      (operation_on_pair_t.read_high, true) : do_read_high11();
    }
  }

  Register<pair_t, copy_place_t>(1 << COPY_BITS) sums12;
  RegisterAction<pair_t, copy_place_t, element_t>(sums12) write12 = {
    void apply(inout pair_t sum, out element_t low) {
      sum.low = headers.lanes32.element12;
      sum.high = headers.lanes16.element12;
      low = sum.low;
    }
  };
  RegisterAction<pair_t, copy_place_t, element_t>(sums12) add12 = {
    void apply(inout pair_t sum, out element_t low) {
      sum.low = sum.low + headers.lanes32.element12;
      sum.high = sum.high + headers.lanes16.element12;
      low = sum.low;
    }
  };
  RegisterAction<pair_t, copy_place_t, element_t>(sums12) max12 = {
    void apply(inout pair_t sum, out element_t low) {
      if ((int<32>)headers.lanes32.element12 > (int<32>)sum.low) sum.low = headers.lanes32.element12;
      if ((int<32>)headers.lanes16.element12 > (int<32>)sum.high) sum.high = headers.lanes16.element12;
      low = sum.low;
    }
  };
  RegisterAction<pair_t, copy_place_t, element_t>(sums12) read_high12 = {
    void apply(inout pair_t sum, out element_t high) { high = sum.high; }
  };
  action do_write12() { headers.lanes32.element12 = write12.execute(metadata.copy); }
  action do_add12() { headers.lanes32.element12 = add12.execute(metadata.copy); }
  action do_max12() { headers.lanes32.element12 = max12.execute(metadata.copy); }
  action do_read_high12() { headers.lanes16.element12 = read_high12.execute(metadata.copy); }
  @stage(6)
  table sum12 {
    key = {
      metadata.operation : exact;
      headers.lanes16.isValid() : ternary;
    }
    actions = { do_write12; do_add12; do_max12; do_read_high12; NoAction; }
    const default_action = NoAction();
    size = 8;
    const entries = {
      (operation_on_pair_t.write, _) : do_write12();
      (operation_on_pair_t.add, _) : do_add12();
      (operation_on_pair_t.max, _) : do_max12();
      (operation_on_pair_t.read_high, true) : do_read_high12();
    }
  }

  Register<pair_t, copy_place_t>(1 << COPY_BITS) sums13;
  RegisterAction<pair_t, copy_place_t, element_t>(sums13) write13 = {
    void apply(inout pair_t sum, out element_t low) {
      sum.low = headers.lanes32.element13;
      sum.high = headers.lanes16.element13;
      low = sum.low;
    }
  };
  RegisterAction<pair_t, copy_place_t, element_t>(sums13) add13 = {
    void apply(inout pair_t sum, out element_t low) {
      sum.low = sum.low + headers.lanes32.element13;
      sum.high = sum.high + headers.lanes16.element13;
      low = sum.low;
    }
  };
  RegisterAction<pair_t, copy_place_t, element_t>(sums13) max13 = {
    void apply(inout pair_t sum, out element_t low) {
      if ((int<32>)headers.lanes32.element13 > (int<32>)sum.low) sum.low = headers.lanes32.element13;
      if ((int<32>)headers.lanes16.element13 > (int<32>)sum.high) sum.high = headers.lanes16.element13;
      low = sum.low;
    }
  };
  RegisterAction<pair_t, copy_place_t, element_t>(sums13) read_high13 = {
    void apply(inout pair_t sum, out element_t high) { high = sum.high; }
  };
  action do_write13() { headers.lanes32.element13 = write13.execute(metadata.copy); }
  action do_add13() { headers.lanes32.element13 = add13.execute(metadata.copy); }
  action do_max13() { headers.lanes32.element13 = max13.execute(metadata.copy); }
  action do_read_high13() { headers.lanes16.element13 = read_high13.execute(metadata.copy); }
  @stage(6)
  table sum13 {
    key = {
      metadata.operation : exact;
      headers.lanes16.isValid() : ternary;
    }
    actions = { do_write13; do_add13; do_max13; do_read_high13; NoAction; }
    const default_action = NoAction();
    size = 8;
    const entries = {
      (operation_on_pair_t.write, _) : do_write13();
      (operation_on_pair_t.add, _) : do_add13();
      (operation_on_pair_t.max, _) : do_max13();
      (operation_on_pair_t.read_high, true) : do_read_high13();
    }
  }

  Register<pair_t, copy_place_t>(1 << COPY_BITS) sums14;
  RegisterAction<pair_t, copy_place_t, element_t>(sums14) write14 = {
    void apply(inout pair_t sum, out element_t low) {
      sum.low = headers.lanes32.element14;
      sum.high = headers.lanes16.element14;
      low = sum.low;
    }
  };
  RegisterAction<pair_t, copy_place_t, element_t>(sums14) add14 = {
    void apply(inout pair_t sum, out element_t low) {
      sum.low = sum.low + headers.lanes32.element14;
      sum.high = sum.high + headers.lanes16.element14;
      low = sum.low;
    }
  };
  RegisterAction<pair_t, copy_place_t, element_t>(sums14) max14 = {
    void apply(inout pair_t sum, out element_t low) {
      if ((int<32>)headers.lanes32.element14 > (int<32>)sum.low) sum.low = headers.lanes32.element14;
      if ((int<32>)headers.lanes16.element14 > (int<32>)sum.high) sum.high = headers.lanes16.element14;
      low = sum.low;
    }
  };
  RegisterAction<pair_t, copy_place_t, element_t>(sums14) read_high14 = {
    void apply(inout pair_t sum, out element_t high) { high = sum.high; }
  };
  action do_write14() { headers.lanes32.element14 = write14.execute(metadata.copy); }
  action do_add14() { headers.lanes32.element14 = add14.execute(metadata.copy); }
  action do_max14() { headers.lanes32.element14 = max14.execute(metadata.copy); }
  action do_read_high14() { headers.lanes16.element14 = read_high14.execute(metadata.copy); }
  @stage(7)
  table sum14 {
    key = {
      metadata.operation : exact;
      headers.lanes16.isValid() : ternary;
    }
    actions = { do_write14; do_add14; do_max14; do_read_high14; NoAction; }
    const default_action = NoAction();
    size = 8;
    const entries = {
      (operation_on_pair_t.write, _) : do_write14();
      (operation_on_pair_t.add, _) : do_add14();
      (operation_on_pair_t.max, _) : do_max14();
      (operation_on_pair_t.read_high, true) : do_read_high14();
    }
  }

  Register<pair_t, copy_place_t>(1 << COPY_BITS) sums15;
  RegisterAction<pair_t, copy_place_t, element_t>(sums15) write15 = {
    void apply(inout pair_t sum, out element_t low) {
      sum.low = headers.lanes32.element15;
      sum.high = headers.lanes16.element15;
      low = sum.low;
    }
  };
  RegisterAction<pair_t, copy_place_t, element_t>(sums15) add15 = {
    void apply(inout pair_t sum, out element_t low) {
      sum.low = sum.low + headers.lanes32.element15;
      sum.high = sum.high + headers.lanes16.element15;
      low = sum.low;
    }
  };
  RegisterAction<pair_t, copy_place_t, element_t>(sums15) max15 = {
    void apply(inout pair_t sum, out element_t low) {
      if ((int<32>)headers.lanes32.element15 > (int<32>)sum.low) sum.low = headers.lanes32.element15;
      if ((int<32>)headers.lanes16.element15 > (int<32>)sum.high) sum.high = headers.lanes16.element15;
      low = sum.low;
    }
  };
  RegisterAction<pair_t, copy_place_t, element_t>(sums15) read_high15 = {
    void apply(inout pair_t sum, out element_t high) { high = sum.high; }
  };
  action do_write15() { headers.lanes32.element15 = write15.execute(metadata.copy); }
  action do_add15() { headers.lanes32.element15 = add15.execute(metadata.copy); }
  action do_max15() { headers.lanes32.element15 = max15.execute(metadata.copy); }
  action do_read_high15() { headers.lanes16.element15 = read_high15.execute(metadata.copy); }
  @stage(7)
  table sum15 {
    key = {
      metadata.operation : exact;
      headers.lanes16.isValid() : ternary;
    }
    actions = { do_write15; do_add15; do_max15; do_read_high15; NoAction; }
    const default_action = NoAction();
    size = 8;
    const entries = {
      (operation_on_pair_t.write, _) : do_write15();
      (operation_on_pair_t.add, _) : do_add15();
      (operation_on_pair_t.max, _) : do_max15();
      (operation_on_pair_t.read_high, true) : do_read_high15();
    }
  }

  Register<pair_t, copy_place_t>(1 << COPY_BITS) sums16;
  RegisterAction<pair_t, copy_place_t, element_t>(sums16) write16 = {
    void apply(inout pair_t sum, out element_t low) {
      sum.low = headers.lanes32.element16;
      sum.high = headers.lanes8.element0;
      low = sum.low;
    }
  };
  RegisterAction<pair_t, copy_place_t, element_t>(sums16) add16 = {
    void apply(inout pair_t sum, out element_t low) {
      sum.low = sum.low + headers.lanes32.element16;
      sum.high = sum.high + headers.lanes8.element0;
      low = sum.low;
    }
  };
  RegisterAction<pair_t, copy_place_t, element_t>(sums16) max16 = {
    void apply(inout pair_t sum, out element_t low) {
      if ((int<32>)headers.lanes32.element16 > (int<32>)sum.low) sum.low = headers.lanes32.element16;
      if ((int<32>)headers.lanes8.element0 > (int<32>)sum.high) sum.high = headers.lanes8.element0;
      low = sum.low;
    }
  };
  RegisterAction<pair_t, copy_place_t, element_t>(sums16) read_high16 = {
    void apply(inout pair_t sum, out element_t high) { high = sum.high; }
  };
  action do_write16() { headers.lanes32.element16 = write16.execute(metadata.copy); }
  action do_add16() { headers.lanes32.element16 = add16.execute(metadata.copy); }
  action do_max16() { headers.lanes32.element16 = max16.execute(metadata.copy); }
  action do_read_high16() { headers.lanes8.element0 = read_high16.execute(metadata.copy); }
  @stage(7)
  table sum16 {
    key = {
      metadata.operation : exact;
      headers.lanes8.isValid() : ternary;
    }
    actions = { do_write16; do_add16; do_max16; do_read_high16; NoAction; }
    const default_action = NoAction();
    size = 8;
    const entries = {
      (operation_on_pair_t.write, _) : do_write16();
      (operation_on_pair_t.add, _) : do_add16();
      (operation_on_pair_t.max, _) : do_max16();
      (operation_on_pair_t.read_high, true) : do_read_high16();
    }
  }

  Register<pair_t, copy_place_t>(1 << COPY_BITS) sums17;
  RegisterAction<pair_t, copy_place_t, element_t>(sums17) write17 = {
    void apply(inout pair_t sum, out element_t low) {
      sum.low = headers.lanes32.element17;
      sum.high = headers.lanes8.element1;
      low = sum.low;
    }
  };
  RegisterAction<pair_t, copy_place_t, element_t>(sums17) add17 = {
    void apply(inout pair_t sum, out element_t low) {
      sum.low = sum.low + headers.lanes32.element17;
      sum.high = sum.high + headers.lanes8.element1;
      low = sum.low;
    }
  };
  RegisterAction<pair_t, copy_place_t, element_t>(sums17) max17 = {
    void apply(inout pair_t sum, out element_t low) {
      if ((int<32>)headers.lanes32.element17 > (int<32>)sum.low) sum.low = headers.lanes32.element17;
      if ((int<32>)headers.lanes8.element1 > (int<32>)sum.high) sum.high = headers.lanes8.element1;
      low = sum.low;
    }
  };
  RegisterAction<pair_t, copy_place_t, element_t>(sums17) read_high17 = {
    void apply(inout pair_t sum, out element_t high) { high = sum.high; }
  };
  action do_write17() { headers.lanes32.element17 = write17.execute(metadata.copy); }
  action do_add17() { headers.lanes32.element17 = add17.execute(metadata.copy); }
  action do_max17() { headers.lanes32.element17 = max17.execute(metadata.copy); }
  action do_read_high17() { headers.lanes8.element1 = read_high17.execute(metadata.copy); }
  @stage(7)
  table sum17 {
    key = {
      metadata.operation : exact;
      headers.lanes8.isValid() : ternary;
    }
    actions = { do_write17; do_add17; do_max17; do_read_high17; NoAction; }
    const default_action = NoAction();
    size = 8;
    const entries = {
      (operation_on_pair_t.write, _) : do_write17();
      (operation_on_pair_t.add, _) : do_add17();
      (operation_on_pair_t.max, _) : do_max17();
      (operation_on_pair_t.read_high, true) : do_read_high17();
    }
  }

  Register<pair_t, copy_place_t>(1 << COPY_BITS) sums18;
  RegisterAction<pair_t, copy_place_t, element_t>(sums18) write18 = {
    void apply(inout pair_t sum, out element_t low) {
      sum.low = headers.lanes32.element18;
      sum.high = headers.lanes8.element2;
      low = sum.low;
    }
  };
  RegisterAction<pair_t, copy_place_t, element_t>(sums18) add18 = {
    void apply(inout pair_t sum, out element_t low) {
      sum.low = sum.low + headers.lanes32.element18;
      sum.high = sum.high + headers.lanes8.element2;
      low = sum.low;
    }
  };
  RegisterAction<pair_t, copy_place_t, element_t>(sums18) max18 = {
    void apply(inout pair_t sum, out element_t low) {
      if ((int<32>)headers.lanes32.element18 > (int<32>)sum.low) sum.low = headers.lanes32.element18;
      if ((int<32>)headers.lanes8.element2 > (int<32>)sum.high) sum.high = headers.lanes8.element2;
      low = sum.low;
    }
  };
  RegisterAction<pair_t, copy_place_t, element_t>(sums18) read_high18 = {
    void apply(inout pair_t sum, out element_t high) { high = sum.high; }
  };
  action do_write18() { headers.lanes32.element18 = write18.execute(metadata.copy); }
  action do_add18() { headers.lanes32.element18 = add18.execute(metadata.copy); }
  action do_max18() { headers.lanes32.element18 = max18.execute(metadata.copy); }
  action do_read_high18() { headers.lanes8.element2 = read_high18.execute(metadata.copy); }
  @stage(8)
  table sum18 {
    key = {
      metadata.operation : exact;
      headers.lanes8.isValid() : ternary;
    }
    actions = { do_write18; do_add18; do_max18; do_read_high18; NoAction; }
    const default_action = NoAction();
    size = 8;
    const entries = {
      (operation_on_pair_t.write, _) : do_write18();
      (operation_on_pair_t.add, _) : do_add18();
      (operation_on_pair_t.max, _) : do_max18();
      (operation_on_pair_t.read_high, true) : do_read_high18();
    }
  }

  Register<pair_t, copy_place_t>(1 << COPY_BITS) sums19;
  RegisterAction<pair_t, copy_place_t, element_t>(sums19) write19 = {
    void apply(inout pair_t sum, out element_t low) {
      sum.low = headers.lanes32.element19;
      sum.high = headers.lanes8.element3;
      low = sum.low;
    }
  };
  RegisterAction<pair_t, copy_place_t, element_t>(sums19) add19 = {
    void apply(inout pair_t sum, out element_t low) {
      sum.low = sum.low + headers.lanes32.element19;
      sum.high = sum.high + headers.lanes8.element3;
      low = sum.low;
    }
  };
  RegisterAction<pair_t, copy_place_t, element_t>(sums19) max19 = {
    void apply(inout pair_t sum, out element_t low) {
      if ((int<32>)headers.lanes32.element19 > (int<32>)sum.low) sum.low = headers.lanes32.element19;
      if ((int<32>)headers.lanes8.element3 > (int<32>)sum.high) sum.high = headers.lanes8.element3;
      low = sum.low;
    }
  };
  RegisterAction<pair_t, copy_place_t, element_t>(sums19) read_high19 = {
    void apply(inout pair_t sum, out element_t high) { high = sum.high; }
  };
  action do_write19() { headers.lanes32.element19 = write19.execute(metadata.copy); }
  action do_add19() { headers.lanes32.element19 = add19.execute(metadata.copy); }
  action do_max19() { headers.lanes32.element19 = max19.execute(metadata.copy); }
  action do_read_high19() { headers.lanes8.element3 = read_high19.execute(metadata.copy); }
  @stage(8)
  table sum19 {
    key = {
      metadata.operation : exact;
      headers.lanes8.isValid() : ternary;
    }
    actions = { do_write19; do_add19; do_max19; do_read_high19; NoAction; }
    const default_action = NoAction();
    size = 8;
    const entries = {
      (operation_on_pair_t.write, _) : do_write19();
      (operation_on_pair_t.add, _) : do_add19();
      (operation_on_pair_t.max, _) : do_max19();
      (operation_on_pair_t.read_high, true) : do_read_high19();
    }
  }

  Register<pair_t, copy_place_t>(1 << COPY_BITS) sums20;
  RegisterAction<pair_t, copy_place_t, element_t>(sums20) write20 = {
    void apply(inout pair_t sum, out element_t low) {
      sum.low = headers.lanes32.element20;
      sum.high = headers.lanes8.element4;
      low = sum.low;
    }
  };
  RegisterAction<pair_t, copy_place_t, element_t>(sums20) add20 = {
    void apply(inout pair_t sum, out element_t low) {
      sum.low = sum.low + headers.lanes32.element20;
      sum.high = sum.high + headers.lanes8.element4;
      low = sum.low;
    }
  };
  RegisterAction<pair_t, copy_place_t, element_t>(sums20) max20 = {
    void apply(inout pair_t sum, out element_t low) {
      if ((int<32>)headers.lanes32.element20 > (int<32>)sum.low) sum.low = headers.lanes32.element20;
      if ((int<32>)headers.lanes8.element4 > (int<32>)sum.high) sum.high = headers.lanes8.element4;
      low = sum.low;
    }
  };
  RegisterAction<pair_t, copy_place_t, element_t>(sums20) read_high20 = {
    void apply(inout pair_t sum, out element_t high) { high = sum.high; }
  };
  action do_write20() { headers.lanes32.element20 = write20.execute(metadata.copy); }
  action do_add20() { headers.lanes32.element20 = add20.execute(metadata.copy); }
  action do_max20() { headers.lanes32.element20 = max20.execute(metadata.copy); }
  action do_read_high20() { headers.lanes8.element4 = read_high20.execute(metadata.copy); }
  @stage(8)
  table sum20 {
    key = {
      metadata.operation : exact;
      headers.lanes8.isValid() : ternary;
    }
    actions = { do_write20; do_add20; do_max20; do_read_high20; NoAction; }
    const default_action = NoAction();
    size = 8;
    const entries = {
      (operation_on_pair_t.write, _) : do_write20();
      (operation_on_pair_t.add, _) : do_add20();
      (operation_on_pair_t.max, _) : do_max20();
      (operation_on_pair_t.read_high, true) : do_read_high20();
    }
  }

  Register<pair_t, copy_place_t>(1 << COPY_BITS) sums21;
  RegisterAction<pair_t, copy_place_t, element_t>(sums21) write21 = {
    void apply(inout pair_t sum, out element_t low) {
      sum.low = headers.lanes32.element21;
      sum.high = headers.lanes8.element5;
      low = sum.low;
    }
  };
  RegisterAction<pair_t, copy_place_t, element_t>(sums21) add21 = {
    void apply(inout pair_t sum, out element_t low) {
      sum.low = sum.low + headers.lanes32.element21;
      sum.high = sum.high + headers.lanes8.element5;
      low = sum.low;
    }
  };
  RegisterAction<pair_t, copy_place_t, element_t>(sums21) max21 = {
    void apply(inout pair_t sum, out element_t low) {
      if ((int<32>)headers.lanes32.element21 > (int<32>)sum.low) sum.low = headers.lanes32.element21;
      if ((int<32>)headers.lanes8.element5 > (int<32>)sum.high) sum.high = headers.lanes8.element5;
      low = sum.low;
    }
  };
  RegisterAction<pair_t, copy_place_t, element_t>(sums21) read_high21 = {
    void apply(inout pair_t sum, out element_t high) { high = sum.high; }
  };
  action do_write21() { headers.lanes32.element21 = write21.execute(metadata.copy); }
  action do_add21() { headers.lanes32.element21 = add21.execute(metadata.copy); }
  action do_max21() { headers.lanes32.element21 = max21.execute(metadata.copy); }
  action do_read_high21() { headers.lanes8.element5 = read_high21.execute(metadata.copy); }
  @stage(8)
  table sum21 {
    key = {
      metadata.operation : exact;
      headers.lanes8.isValid() : ternary;
    }
    actions = { do_write21; do_add21; do_max21; do_read_high21; NoAction; }
    const default_action = NoAction();
    size = 8;
    const entries = {
      (operation_on_pair_t.write, _) : do_write21();
      (operation_on_pair_t.add, _) : do_add21();
      (operation_on_pair_t.max, _) : do_max21();
      (operation_on_pair_t.read_high, true) : do_read_high21();
    }
  }

  Register<pair_t, copy_place_t>(1 << COPY_BITS) sums22;
  RegisterAction<pair_t, copy_place_t, element_t>(sums22) write22 = {
    void apply(inout pair_t sum, out element_t low) {
      sum.low = headers.lanes32.element22;
      sum.high = headers.lanes8.element6;
      low = sum.low;
    }
  };
  RegisterAction<pair_t, copy_place_t, element_t>(sums22) add22 = {
    void apply(inout pair_t sum, out element_t low) {
      sum.low = sum.low + headers.lanes32.element22;
      sum.high = sum.high + headers.lanes8.element6;
      low = sum.low;
    }
  };
  RegisterAction<pair_t, copy_place_t, element_t>(sums22) max22 = {
    void apply(inout pair_t sum, out element_t low) {
      if ((int<32>)headers.lanes32.element22 > (int<32>)sum.low) sum.low = headers.lanes32.element22;
      if ((int<32>)headers.lanes8.element6 > (int<32>)sum.high) sum.high = headers.lanes8.element6;
      low = sum.low;
    }
  };
  RegisterAction<pair_t, copy_place_t, element_t>(sums22) read_high22 = {
    void apply(inout pair_t sum, out element_t high) { high = sum.high; }
  };
  action do_write22() { headers.lanes32.element22 = write22.execute(metadata.copy); }
  action do_add22() { headers.lanes32.element22 = add22.execute(metadata.copy); }
  action do_max22() { headers.lanes32.element22 = max22.execute(metadata.copy); }
  action do_read_high22() { headers.lanes8.element6 = read_high22.execute(metadata.copy); }
  @stage(9)
  table sum22 {
    key = {
      metadata.operation : exact;
      headers.lanes8.isValid() : ternary;
    }
    actions = { do_write22; do_add22; do_max22; do_read_high22; NoAction; }
    const default_action = NoAction();
    size = 8;
    const entries = {
      (operation_on_pair_t.write, _) : do_write22();
      (operation_on_pair_t.add, _) : do_add22();
      (operation_on_pair_t.max, _) : do_max22();
      (operation_on_pair_t.read_high, true) : do_read_high22();
    }
  }

  Register<pair_t, copy_place_t>(1 << COPY_BITS) sums23;
  RegisterAction<pair_t, copy_place_t, element_t>(sums23) write23 = {
    void apply(inout pair_t sum, out element_t low) {
      sum.low = headers.lanes32.element23;
      sum.high = headers.lanes8.element7;
      low = sum.low;
    }
  };
  RegisterAction<pair_t, copy_place_t, element_t>(sums23) add23 = {
    void apply(inout pair_t sum, out element_t low) {
      sum.low = sum.low + headers.lanes32.element23;
      sum.high = sum.high + headers.lanes8.element7;
      low = sum.low;
    }
  };
  RegisterAction<pair_t, copy_place_t, element_t>(sums23) max23 = {
    void apply(inout pair_t sum, out element_t low) {
      if ((int<32>)headers.lanes32.element23 > (int<32>)sum.low) sum.low = headers.lanes32.element23;
      if ((int<32>)headers.lanes8.element7 > (int<32>)sum.high) sum.high = headers.lanes8.element7;
      low = sum.low;
    }
  };
  RegisterAction<pair_t, copy_place_t, element_t>(sums23) read_high23 = {
    void apply(inout pair_t sum, out element_t high) { high = sum.high; }
  };
  action do_write23() { headers.lanes32.element23 = write23.execute(metadata.copy); }
  action do_add23() { headers.lanes32.element23 = add23.execute(metadata.copy); }
  action do_max23() { headers.lanes32.element23 = max23.execute(metadata.copy); }
  action do_read_high23() { headers.lanes8.element7 = read_high23.execute(metadata.copy); }
  @stage(9)
  table sum23 {
    key = {
      metadata.operation : exact;
      headers.lanes8.isValid() : ternary;
    }
    actions = { do_write23; do_add23; do_max23; do_read_high23; NoAction; }
    const default_action = NoAction();
    size = 8;
    const entries = {
      (operation_on_pair_t.write, _) : do_write23();
      (operation_on_pair_t.add, _) : do_add23();
      (operation_on_pair_t.max, _) : do_max23();
      (operation_on_pair_t.read_high, true) : do_read_high23();
    }
  }

  Register<pair_t, copy_place_t>(1 << COPY_BITS) sums24;
  RegisterAction<pair_t, copy_place_t, element_t>(sums24) write24 = {
    void apply(inout pair_t sum, out element_t low) {
      sum.low = headers.lanes32.element24;
      sum.high = headers.lanes4.element0;
      low = sum.low;
    }
  };
  RegisterAction<pair_t, copy_place_t, element_t>(sums24) add24 = {
    void apply(inout pair_t sum, out element_t low) {
      sum.low = sum.low + headers.lanes32.element24;
      sum.high = sum.high + headers.lanes4.element0;
      low = sum.low;
    }
  };
  RegisterAction<pair_t, copy_place_t, element_t>(sums24) max24 = {
    void apply(inout pair_t sum, out element_t low) {
      if ((int<32>)headers.lanes32.element24 > (int<32>)sum.low) sum.low = headers.lanes32.element24;
      if ((int<32>)headers.lanes4.element0 > (int<32>)sum.high) sum.high = headers.lanes4.element0;
      low = sum.low;
    }
  };
  RegisterAction<pair_t, copy_place_t, element_t>(sums24) read_high24 = {
    void apply(inout pair_t sum, out element_t high) { high = sum.high; }
  };
  action do_write24() { headers.lanes32.element24 = write24.execute(metadata.copy); }
  action do_add24() { headers.lanes32.element24 = add24.execute(metadata.copy); }
  action do_max24() { headers.lanes32.element24 = max24.execute(metadata.copy); }
  action do_read_high24() { headers.lanes4.element0 = read_high24.execute(metadata.copy); }
  @stage(9)
  table sum24 {
    key = {
      metadata.operation : exact;
      headers.lanes4.isValid() : ternary;
    }
    actions = { do_write24; do_add24; do_max24; do_read_high24; NoAction; }
    const default_action = NoAction();
    size = 8;
    const entries = {
      (operation_on_pair_t.write, _) : do_write24();
      (operation_on_pair_t.add, _) : do_add24();
      (operation_on_pair_t.max, _) : do_max24();
      (operation_on_pair_t.read_high, true) : do_read_high24();
    }
  }

  Register<pair_t, copy_place_t>(1 << COPY_BITS) sums25;
  RegisterAction<pair_t, copy_place_t, element_t>(sums25) write25 = {
    void apply(inout pair_t sum, out element_t low) {
      sum.low = headers.lanes32.element25;
      sum.high = headers.lanes4.element1;
      low = sum.low;
    }
  };
  RegisterAction<pair_t, copy_place_t, element_t>(sums25) add25 = {
    void apply(inout pair_t sum, out element_t low) {
      sum.low = sum.low + headers.lanes32.element25;
      sum.high = sum.high + headers.lanes4.element1;
      low = sum.low;
    }
  };
  RegisterAction<pair_t, copy_place_t, element_t>(sums25) max25 = {
    void apply(inout pair_t sum, out element_t low) {
      if ((int<32>)headers.lanes32.element25 > (int<32>)sum.low) sum.low = headers.lanes32.element25;
      if ((int<32>)headers.lanes4.element1 > (int<32>)sum.high) sum.high = headers.lanes4.element1;
      low = sum.low;
    }
  };
  RegisterAction<pair_t, copy_place_t, element_t>(sums25) read_high25 = {
    void apply(inout pair_t sum, out element_t high) { high = sum.high; }
  };
  action do_write25() { headers.lanes32.element25 = write25.execute(metadata.copy); }
  action do_add25() { headers.lanes32.element25 = add25.execute(metadata.copy); }
  action do_max25() { headers.lanes32.element25 = max25.execute(metadata.copy); }
  action do_read_high25() { headers.lanes4.element1 = read_high25.execute(metadata.copy); }
  @stage(9)
  table sum25 {
    key = {
      metadata.operation : exact;
      headers.lanes4.isValid() : ternary;
    }
    actions = { do_write25; do_add25; do_max25; do_read_high25; NoAction; }
    const default_action = NoAction();
    size = 8;
    const entries = {
      (operation_on_pair_t.write, _) : do_write25();
      (operation_on_pair_t.add, _) : do_add25();
      (operation_on_pair_t.max, _) : do_max25();
      (operation_on_pair_t.read_high, true) : do_read_high25();
    }
  }

  Register<pair_t, copy_place_t>(1 << COPY_BITS) sums26;
  RegisterAction<pair_t, copy_place_t, element_t>(sums26) write26 = {
    void apply(inout pair_t sum, out element_t low) {
      sum.low = headers.lanes32.element26;
      sum.high = headers.lanes4.element2;
      low = sum.low;
    }
  };
  RegisterAction<pair_t, copy_place_t, element_t>(sums26) add26 = {
    void apply(inout pair_t sum, out element_t low) {
      sum.low = sum.low + headers.lanes32.element26;
      sum.high = sum.high + headers.lanes4.element2;
      low = sum.low;
    }
  };
  RegisterAction<pair_t, copy_place_t, element_t>(sums26) max26 = {
    void apply(inout pair_t sum, out element_t low) {
      if ((int<32>)headers.lanes32.element26 > (int<32>)sum.low) sum.low = headers.lanes32.element26;
      if ((int<32>)headers.lanes4.element2 > (int<32>)sum.high) sum.high = headers.lanes4.element2;
      low = sum.low;
    }
  };
  RegisterAction<pair_t, copy_place_t, element_t>(sums26) read_high26 = {
    void apply(inout pair_t sum, out element_t high) { high = sum.high; }
  };
  action do_write26() { headers.lanes32.element26 = write26.execute(metadata.copy); }
  action do_add26() { headers.lanes32.element26 = add26.execute(metadata.copy); }
  action do_max26() { headers.lanes32.element26 = max26.execute(metadata.copy); }
  action do_read_high26() { headers.lanes4.element2 = read_high26.execute(metadata.copy); }
  @stage(10)
  table sum26 {
    key = {
      metadata.operation : exact;
      headers.lanes4.isValid() : ternary;
    }
    actions = { do_write26; do_add26; do_max26; do_read_high26; NoAction; }
    const default_action = NoAction();
    size = 8;
    const entries = {
      (operation_on_pair_t.write, _) : do_write26();
      (operation_on_pair_t.add, _) : do_add26();
      (operation_on_pair_t.max, _) : do_max26();
      (operation_on_pair_t.read_high, true) : do_read_high26();
    }
  }

  Register<pair_t, copy_place_t>(1 << COPY_BITS) sums27;
  RegisterAction<pair_t, copy_place_t, element_t>(sums27) write27 = {
    void apply(inout pair_t sum, out element_t low) {
      sum.low = headers.lanes32.element27;
      sum.high = headers.lanes4.element3;
      low = sum.low;
    }
  };
  RegisterAction<pair_t, copy_place_t, element_t>(sums27) add27 = {
    void apply(inout pair_t sum, out element_t low) {
      sum.low = sum.low + headers.lanes32.element27;
      sum.high = sum.high + headers.lanes4.element3;
      low = sum.low;
    }
  };
  RegisterAction<pair_t, copy_place_t, element_t>(sums27) max27 = {
    void apply(inout pair_t sum, out element_t low) {
      if ((int<32>)headers.lanes32.element27 > (int<32>)sum.low) sum.low = headers.lanes32.element27;
      if ((int<32>)headers.lanes4.element3 > (int<32>)sum.high) sum.high = headers.lanes4.element3;
      low = sum.low;
    }
  };
  RegisterAction<pair_t, copy_place_t, element_t>(sums27) read_high27 = {
    void apply(inout pair_t sum, out element_t high) { high = sum.high; }
  };
  action do_write27() { headers.lanes32.element27 = write27.execute(metadata.copy); }
  action do_add27() { headers.lanes32.element27 = add27.execute(metadata.copy); }
  action do_max27() { headers.lanes32.element27 = max27.execute(metadata.copy); }
  action do_read_high27() { headers.lanes4.element3 = read_high27.execute(metadata.copy); }
  @stage(10)
  table sum27 {
    key = {
      metadata.operation : exact;
      headers.lanes4.isValid() : ternary;
    }
    actions = { do_write27; do_add27; do_max27; do_read_high27; NoAction; }
    const default_action = NoAction();
    size = 8;
    const entries = {
      (operation_on_pair_t.write, _) : do_write27();
      (operation_on_pair_t.add, _) : do_add27();
      (operation_on_pair_t.max, _) : do_max27();
      (operation_on_pair_t.read_high, true) : do_read_high27();
    }
  }

  Register<pair_t, copy_place_t>(1 << COPY_BITS) sums28;
  RegisterAction<pair_t, copy_place_t, element_t>(sums28) write28 = {
    void apply(inout pair_t sum, out element_t low) {
      sum.low = headers.lanes32.element28;
      sum.high = headers.lanes2.element0;
      low = sum.low;
    }
  };
  RegisterAction<pair_t, copy_place_t, element_t>(sums28) add28 = {
    void apply(inout pair_t sum, out element_t low) {
      sum.low = sum.low + headers.lanes32.element28;
      sum.high = sum.high + headers.lanes2.element0;
      low = sum.low;
    }
  };
  RegisterAction<pair_t, copy_place_t, element_t>(sums28) max28 = {
    void apply(inout pair_t sum, out element_t low) {
      if ((int<32>)headers.lanes32.element28 > (int<32>)sum.low) sum.low = headers.lanes32.element28;
      if ((int<32>)headers.lanes2.element0 > (int<32>)sum.high) sum.high = headers.lanes2.element0;
      low = sum.low;
    }
  };
  RegisterAction<pair_t, copy_place_t, element_t>(sums28) read_high28 = {
    void apply(inout pair_t sum, out element_t high) { high = sum.high; }
  };
  action do_write28() { headers.lanes32.element28 = write28.execute(metadata.copy); }
  action do_add28() { headers.lanes32.element28 = add28.execute(metadata.copy); }
  action do_max28() { headers.lanes32.element28 = max28.execute(metadata.copy); }
  action do_read_high28() { headers.lanes2.element0 = read_high28.execute(metadata.copy); }
  @stage(10)
  table sum28 {
    key = {
      metadata.operation : exact;
      headers.lanes2.isValid() : ternary;
    }
    actions = { do_write28; do_add28; do_max28; do_read_high28; NoAction; }
    const default_action = NoAction();
    size = 8;
    const entries = {
      (operation_on_pair_t.write, _) : do_write28();
      (operation_on_pair_t.add, _) : do_add28();
      (operation_on_pair_t.max, _) : do_max28();
      (operation_on_pair_t.read_high, true) : do_read_high28();
    }
  }

  Register<pair_t, copy_place_t>(1 << COPY_BITS) sums29;
  RegisterAction<pair_t, copy_place_t, element_t>(sums29) write29 = {
    void apply(inout pair_t sum, out element_t low) {
      sum.low = headers.lanes32.element29;
      sum.high = headers.lanes2.element1;
      low = sum.low;
    }
  };
  RegisterAction<pair_t, copy_place_t, element_t>(sums29) add29 = {
    void apply(inout pair_t sum, out element_t low) {
      sum.low = sum.low + headers.lanes32.element29;
      sum.high = sum.high + headers.lanes2.element1;
      low = sum.low;
    }
  };
  RegisterAction<pair_t, copy_place_t, element_t>(sums29) max29 = {
    void apply(inout pair_t sum, out element_t low) {
      if ((int<32>)headers.lanes32.element29 > (int<32>)sum.low) sum.low = headers.lanes32.element29;
      if ((int<32>)headers.lanes2.element1 > (int<32>)sum.high) sum.high = headers.lanes2.element1;
      low = sum.low;
    }
  };
  RegisterAction<pair_t, copy_place_t, element_t>(sums29) read_high29 = {
    void apply(inout pair_t sum, out element_t high) { high = sum.high; }
  };
  action do_write29() { headers.lanes32.element29 = write29.execute(metadata.copy); }
  action do_add29() { headers.lanes32.element29 = add29.execute(metadata.copy); }
  action do_max29() { headers.lanes32.element29 = max29.execute(metadata.copy); }
  action do_read_high29() { headers.lanes2.element1 = read_high29.execute(metadata.copy); }
  @stage(10)
  table sum29 {
    key = {
      metadata.operation : exact;
      headers.lanes2.isValid() : ternary;
    }
    actions = { do_write29; do_add29; do_max29; do_read_high29; NoAction; }
    const default_action = NoAction();
    size = 8;
    const entries = {
      (operation_on_pair_t.write, _) : do_write29();
      (operation_on_pair_t.add, _) : do_add29();
      (operation_on_pair_t.max, _) : do_max29();
      (operation_on_pair_t.read_high, true) : do_read_high29();
    }
  }

  Register<pair_t, copy_place_t>(1 << COPY_BITS) sums30;
  RegisterAction<pair_t, copy_place_t, element_t>(sums30) write30 = {
    void apply(inout pair_t sum, out element_t low) {
      sum.low = headers.lanes32.element30;
      sum.high = headers.lanes1.element0;
      low = sum.low;
    }
  };
  RegisterAction<pair_t, copy_place_t, element_t>(sums30) add30 = {
    void apply(inout pair_t sum, out element_t low) {
      sum.low = sum.low + headers.lanes32.element30;
      sum.high = sum.high + headers.lanes1.element0;
      low = sum.low;
    }
  };
  RegisterAction<pair_t, copy_place_t, element_t>(sums30) max30 = {
    void apply(inout pair_t sum, out element_t low) {
      if ((int<32>)headers.lanes32.element30 > (int<32>)sum.low) sum.low = headers.lanes32.element30;
      if ((int<32>)headers.lanes1.element0 > (int<32>)sum.high) sum.high = headers.lanes1.element0;
      low = sum.low;
    }
  };
  RegisterAction<pair_t, copy_place_t, element_t>(sums30) read_high30 = {
    void apply(inout pair_t sum, out element_t high) { high = sum.high; }
  };
  action do_write30() { headers.lanes32.element30 = write30.execute(metadata.copy); }
  action do_add30() { headers.lanes32.element30 = add30.execute(metadata.copy); }
  action do_max30() { headers.lanes32.element30 = max30.execute(metadata.copy); }
  action do_read_high30() { headers.lanes1.element0 = read_high30.execute(metadata.copy); }
  @stage(11)
  table sum30 {
    key = {
      metadata.operation : exact;
      headers.lanes1.isValid() : ternary;
    }
    actions = { do_write30; do_add30; do_max30; do_read_high30; NoAction; }
    const default_action = NoAction();
    size = 8;
    const entries = {
      (operation_on_pair_t.write, _) : do_write30();
      (operation_on_pair_t.add, _) : do_add30();
      (operation_on_pair_t.max, _) : do_max30();
      (operation_on_pair_t.read_high, true) : do_read_high30();
    }
  }

  Register<pair_t, copy_place_t>(1 << COPY_BITS) sums31;
  RegisterAction<pair_t, copy_place_t, element_t>(sums31) write31 = {
    void apply(inout pair_t sum, out element_t low) {
      sum.low = headers.lanes32.element31;
      sum.high = headers.lane.element0;
      low = sum.low;
    }
  };
  RegisterAction<pair_t, copy_place_t, element_t>(sums31) add31 = {
    void apply(inout pair_t sum, out element_t low) {
      sum.low = sum.low + headers.lanes32.element31;
      sum.high = sum.high + headers.lane.element0;
      low = sum.low;
    }
  };
  RegisterAction<pair_t, copy_place_t, element_t>(sums31) max31 = {
    void apply(inout pair_t sum, out element_t low) {
      if ((int<32>)headers.lanes32.element31 > (int<32>)sum.low) sum.low = headers.lanes32.element31;
      if ((int<32>)headers.lane.element0 > (int<32>)sum.high) sum.high = headers.lane.element0;
      low = sum.low;
    }
  };
  RegisterAction<pair_t, copy_place_t, element_t>(sums31) read_high31 = {
    void apply(inout pair_t sum, out element_t high) { high = sum.high; }
  };
  action do_write31() { headers.lanes32.element31 = write31.execute(metadata.copy); }
  action do_add31() { headers.lanes32.element31 = add31.execute(metadata.copy); }
  action do_max31() { headers.lanes32.element31 = max31.execute(metadata.copy); }
  action do_read_high31() { headers.lane.element0 = read_high31.execute(metadata.copy); }
  @stage(11)
  table sum31 {
    key = {
      metadata.operation : exact;
      headers.lane.isValid() : ternary;
    }
    actions = { do_write31; do_add31; do_max31; do_read_high31; NoAction; }
    const default_action = NoAction();
    size = 8;
    const entries = {
      (operation_on_pair_t.write, _) : do_write31();
      (operation_on_pair_t.add, _) : do_add31();
      (operation_on_pair_t.max, _) : do_max31();
      (operation_on_pair_t.read_high, true) : do_read_high31();
    }
  }

  apply {
    sum0.apply();
    sum1.apply();
    sum2.apply();
    sum3.apply();
    sum4.apply();
    sum5.apply();
    sum6.apply();
    sum7.apply();
    sum8.apply();
    sum9.apply();
    sum10.apply();
    sum11.apply();
    sum12.apply();
    sum13.apply();
    sum14.apply();
    sum15.apply();
    sum16.apply();
    sum17.apply();
    sum18.apply();
    sum19.apply();
    sum20.apply();
    sum21.apply();
    sum22.apply();
    sum23.apply();
    sum24.apply();
    sum25.apply();
    sum26.apply();
    sum27.apply();
    sum28.apply();
    sum29.apply();
    sum30.apply();
    sum31.apply();
  }
}
