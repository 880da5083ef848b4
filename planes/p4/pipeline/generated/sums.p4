// SPDX-License-Identifier: Apache-2.0
//
// The sums, a register for each pair of elements: core::Adder::sum().
// Written by tools/p4_elements.py.
#include "headers.p4"
#include "registers.p4"
#include "pair.p4"

REGISTER(pair_t, copy_place_t, 1 << COPY_BITS, sums0)
REGISTER(pair_t, copy_place_t, 1 << COPY_BITS, sums1)
REGISTER(pair_t, copy_place_t, 1 << COPY_BITS, sums2)
REGISTER(pair_t, copy_place_t, 1 << COPY_BITS, sums3)
REGISTER(pair_t, copy_place_t, 1 << COPY_BITS, sums4)
REGISTER(pair_t, copy_place_t, 1 << COPY_BITS, sums5)
REGISTER(pair_t, copy_place_t, 1 << COPY_BITS, sums6)
REGISTER(pair_t, copy_place_t, 1 << COPY_BITS, sums7)
REGISTER(pair_t, copy_place_t, 1 << COPY_BITS, sums8)
REGISTER(pair_t, copy_place_t, 1 << COPY_BITS, sums9)
REGISTER(pair_t, copy_place_t, 1 << COPY_BITS, sums10)
REGISTER(pair_t, copy_place_t, 1 << COPY_BITS, sums11)
REGISTER(pair_t, copy_place_t, 1 << COPY_BITS, sums12)
REGISTER(pair_t, copy_place_t, 1 << COPY_BITS, sums13)
REGISTER(pair_t, copy_place_t, 1 << COPY_BITS, sums14)
REGISTER(pair_t, copy_place_t, 1 << COPY_BITS, sums15)
REGISTER(pair_t, copy_place_t, 1 << COPY_BITS, sums16)
REGISTER(pair_t, copy_place_t, 1 << COPY_BITS, sums17)
REGISTER(pair_t, copy_place_t, 1 << COPY_BITS, sums18)
REGISTER(pair_t, copy_place_t, 1 << COPY_BITS, sums19)
REGISTER(pair_t, copy_place_t, 1 << COPY_BITS, sums20)
REGISTER(pair_t, copy_place_t, 1 << COPY_BITS, sums21)
REGISTER(pair_t, copy_place_t, 1 << COPY_BITS, sums22)
REGISTER(pair_t, copy_place_t, 1 << COPY_BITS, sums23)
REGISTER(pair_t, copy_place_t, 1 << COPY_BITS, sums24)
REGISTER(pair_t, copy_place_t, 1 << COPY_BITS, sums25)
REGISTER(pair_t, copy_place_t, 1 << COPY_BITS, sums26)
REGISTER(pair_t, copy_place_t, 1 << COPY_BITS, sums27)
REGISTER(pair_t, copy_place_t, 1 << COPY_BITS, sums28)
REGISTER(pair_t, copy_place_t, 1 << COPY_BITS, sums29)
REGISTER(pair_t, copy_place_t, 1 << COPY_BITS, sums30)
REGISTER(pair_t, copy_place_t, 1 << COPY_BITS, sums31)

control Sums(inout headers_t headers, inout metadata_t metadata) {
  SUM(0, headers.lanes32.element0, headers.lanes16.element0, headers.lanes16, 3)
  SUM(1, headers.lanes32.element1, headers.lanes16.element1, headers.lanes16, 3)
  SUM(2, headers.lanes32.element2, headers.lanes16.element2, headers.lanes16, 3)
  SUM(3, headers.lanes32.element3, headers.lanes16.element3, headers.lanes16, 4)
  SUM(4, headers.lanes32.element4, headers.lanes16.element4, headers.lanes16, 4)
  SUM(5, headers.lanes32.element5, headers.lanes16.element5, headers.lanes16, 4)
  SUM(6, headers.lanes32.element6, headers.lanes16.element6, headers.lanes16, 5)
  SUM(7, headers.lanes32.element7, headers.lanes16.element7, headers.lanes16, 5)
  SUM(8, headers.lanes32.element8, headers.lanes16.element8, headers.lanes16, 5)
  SUM(9, headers.lanes32.element9, headers.lanes16.element9, headers.lanes16, 5)
  SUM(10, headers.lanes32.element10, headers.lanes16.element10, headers.lanes16, 6)
  SUM(11, headers.lanes32.element11, headers.lanes16.element11, headers.lanes16, 6)
  SUM(12, headers.lanes32.element12, headers.lanes16.element12, headers.lanes16, 6)
  SUM(13, headers.lanes32.element13, headers.lanes16.element13, headers.lanes16, 6)
  SUM(14, headers.lanes32.element14, headers.lanes16.element14, headers.lanes16, 7)
  SUM(15, headers.lanes32.element15, headers.lanes16.element15, headers.lanes16, 7)
  SUM(16, headers.lanes32.element16, headers.lanes8.element0, headers.lanes8, 7)
  SUM(17, headers.lanes32.element17, headers.lanes8.element1, headers.lanes8, 7)
  SUM(18, headers.lanes32.element18, headers.lanes8.element2, headers.lanes8, 8)
  SUM(19, headers.lanes32.element19, headers.lanes8.element3, headers.lanes8, 8)
  SUM(20, headers.lanes32.element20, headers.lanes8.element4, headers.lanes8, 8)
  SUM(21, headers.lanes32.element21, headers.lanes8.element5, headers.lanes8, 8)
  SUM(22, headers.lanes32.element22, headers.lanes8.element6, headers.lanes8, 9)
  SUM(23, headers.lanes32.element23, headers.lanes8.element7, headers.lanes8, 9)
  SUM(24, headers.lanes32.element24, headers.lanes4.element0, headers.lanes4, 9)
  SUM(25, headers.lanes32.element25, headers.lanes4.element1, headers.lanes4, 9)
  SUM(26, headers.lanes32.element26, headers.lanes4.element2, headers.lanes4, 10)
  SUM(27, headers.lanes32.element27, headers.lanes4.element3, headers.lanes4, 10)
  SUM(28, headers.lanes32.element28, headers.lanes2.element0, headers.lanes2, 10)
  SUM(29, headers.lanes32.element29, headers.lanes2.element1, headers.lanes2, 10)
  SUM(30, headers.lanes32.element30, headers.lanes1.element0, headers.lanes1, 11)
  SUM(31, headers.lanes32.element31, headers.lane.element0, headers.lane, 11)

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
