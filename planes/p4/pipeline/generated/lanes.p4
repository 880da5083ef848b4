// SPDX-License-Identifier: Apache-2.0
//
// The elements of a packet, and the lengths of packets.
// Written by tools/p4_elements.py.
#ifndef INFOLD_LANES
#define INFOLD_LANES

header lanes32_t {
  element_t element0;
  element_t element1;
  element_t element2;
  element_t element3;
  element_t element4;
  element_t element5;
  element_t element6;
  element_t element7;
  element_t element8;
  element_t element9;
  element_t element10;
  element_t element11;
  element_t element12;
  element_t element13;
  element_t element14;
  element_t element15;
  element_t element16;
  element_t element17;
  element_t element18;
  element_t element19;
  element_t element20;
  element_t element21;
  element_t element22;
  element_t element23;
  element_t element24;
  element_t element25;
  element_t element26;
  element_t element27;
  element_t element28;
  element_t element29;
  element_t element30;
  element_t element31;
}
header lanes16_t {
  element_t element0;
  element_t element1;
  element_t element2;
  element_t element3;
  element_t element4;
  element_t element5;
  element_t element6;
  element_t element7;
  element_t element8;
  element_t element9;
  element_t element10;
  element_t element11;
  element_t element12;
  element_t element13;
  element_t element14;
  element_t element15;
}
header lanes8_t {
  element_t element0;
  element_t element1;
  element_t element2;
  element_t element3;
  element_t element4;
  element_t element5;
  element_t element6;
  element_t element7;
}
header lanes4_t {
  element_t element0;
  element_t element1;
  element_t element2;
  element_t element3;
}
header lanes2_t {
  element_t element0;
  element_t element1;
}
header lanes1_t {
  element_t element0;
}
header lane_t {
  element_t element0;
}

#define LANE_HEADERS \
  lanes32_t lanes32; \
  lanes16_t lanes16; \
  lanes8_t lanes8; \
  lanes4_t lanes4; \
  lanes2_t lanes2; \
  lanes1_t lanes1; \
  lane_t lane;

#define CLEAR_LANES \
  action clear_lanes() { \
    headers.lanes32.element0 = 0; \
    headers.lanes32.element1 = 0; \
    headers.lanes32.element2 = 0; \
    headers.lanes32.element3 = 0; \
    headers.lanes32.element4 = 0; \
    headers.lanes32.element5 = 0; \
    headers.lanes32.element6 = 0; \
    headers.lanes32.element7 = 0; \
    headers.lanes32.element8 = 0; \
    headers.lanes32.element9 = 0; \
    headers.lanes32.element10 = 0; \
    headers.lanes32.element11 = 0; \
    headers.lanes32.element12 = 0; \
    headers.lanes32.element13 = 0; \
    headers.lanes32.element14 = 0; \
    headers.lanes32.element15 = 0; \
    headers.lanes32.element16 = 0; \
    headers.lanes32.element17 = 0; \
    headers.lanes32.element18 = 0; \
    headers.lanes32.element19 = 0; \
    headers.lanes32.element20 = 0; \
    headers.lanes32.element21 = 0; \
    headers.lanes32.element22 = 0; \
    headers.lanes32.element23 = 0; \
    headers.lanes32.element24 = 0; \
    headers.lanes32.element25 = 0; \
    headers.lanes32.element26 = 0; \
    headers.lanes32.element27 = 0; \
    headers.lanes32.element28 = 0; \
    headers.lanes32.element29 = 0; \
    headers.lanes32.element30 = 0; \
    headers.lanes32.element31 = 0; \
    headers.lanes16.element0 = 0; \
    headers.lanes16.element1 = 0; \
    headers.lanes16.element2 = 0; \
    headers.lanes16.element3 = 0; \
    headers.lanes16.element4 = 0; \
    headers.lanes16.element5 = 0; \
    headers.lanes16.element6 = 0; \
    headers.lanes16.element7 = 0; \
    headers.lanes16.element8 = 0; \
    headers.lanes16.element9 = 0; \
    headers.lanes16.element10 = 0; \
    headers.lanes16.element11 = 0; \
    headers.lanes16.element12 = 0; \
    headers.lanes16.element13 = 0; \
    headers.lanes16.element14 = 0; \
    headers.lanes16.element15 = 0; \
    headers.lanes8.element0 = 0; \
    headers.lanes8.element1 = 0; \
    headers.lanes8.element2 = 0; \
    headers.lanes8.element3 = 0; \
    headers.lanes8.element4 = 0; \
    headers.lanes8.element5 = 0; \
    headers.lanes8.element6 = 0; \
    headers.lanes8.element7 = 0; \
    headers.lanes4.element0 = 0; \
    headers.lanes4.element1 = 0; \
    headers.lanes4.element2 = 0; \
    headers.lanes4.element3 = 0; \
    headers.lanes2.element0 = 0; \
    headers.lanes2.element1 = 0; \
    headers.lanes1.element0 = 0; \
    headers.lane.element0 = 0; \
  }

#define ALL_LANES(headers) \
            headers.lanes32, \
            headers.lanes16, \
            headers.lanes8, \
            headers.lanes4, \
            headers.lanes2, \
            headers.lanes1, \
            headers.lane

#define READ_LANES(NAME) \
  state NAME { \
    transition select(headers.infold.ELEMENTS) { \
      64: NAME##_all; \
      32 &&& 0xffe0: NAME##_32; \
      16 &&& 0xfff0: NAME##_16; \
      8 &&& 0xfff8: NAME##_8; \
      4 &&& 0xfffc: NAME##_4; \
      2 &&& 0xfffe: NAME##_2; \
      1 &&& 0xffff: NAME##_1; \
      default: accept; \
    } \
  } \
  state NAME##_all { \
    packet.extract(headers.lanes32); \
    packet.extract(headers.lanes16); \
    packet.extract(headers.lanes8); \
    packet.extract(headers.lanes4); \
    packet.extract(headers.lanes2); \
    packet.extract(headers.lanes1); \
    packet.extract(headers.lane); \
    transition accept; \
  } \
  state NAME##_32 { \
    packet.extract(headers.lanes32); \
    transition select(headers.infold.ELEMENTS) { \
      16 &&& 0x10: NAME##_16; \
      8 &&& 0x18: NAME##_8; \
      4 &&& 0x1c: NAME##_4; \
      2 &&& 0x1e: NAME##_2; \
      1 &&& 0x1f: NAME##_1; \
      default: accept; \
    } \
  } \
  state NAME##_16 { \
    packet.extract(headers.lanes16); \
    transition select(headers.infold.ELEMENTS) { \
      8 &&& 0x08: NAME##_8; \
      4 &&& 0x0c: NAME##_4; \
      2 &&& 0x0e: NAME##_2; \
      1 &&& 0x0f: NAME##_1; \
      default: accept; \
    } \
  } \
  state NAME##_8 { \
    packet.extract(headers.lanes8); \
    transition select(headers.infold.ELEMENTS) { \
      4 &&& 0x04: NAME##_4; \
      2 &&& 0x06: NAME##_2; \
      1 &&& 0x07: NAME##_1; \
      default: accept; \
    } \
  } \
  state NAME##_4 { \
    packet.extract(headers.lanes4); \
    transition select(headers.infold.ELEMENTS) { \
      2 &&& 0x02: NAME##_2; \
      1 &&& 0x03: NAME##_1; \
      default: accept; \
    } \
  } \
  state NAME##_2 { \
    packet.extract(headers.lanes2); \
    transition select(headers.infold.ELEMENTS) { \
      1 &&& 0x01: NAME##_1; \
      default: accept; \
    } \
  } \
  state NAME##_1 { \
    packet.extract(headers.lanes1); \
    transition accept; \
  }

// Puts them where a packet would have brought them.
#define MAKE_LANES(NAME) \
  state NAME { \
    transition select(headers.infold.ELEMENTS) { \
      64: NAME##_all; \
      32 &&& 0xffe0: NAME##_32; \
      16 &&& 0xfff0: NAME##_16; \
      8 &&& 0xfff8: NAME##_8; \
      4 &&& 0xfffc: NAME##_4; \
      2 &&& 0xfffe: NAME##_2; \
      1 &&& 0xffff: NAME##_1; \
      default: accept; \
    } \
  } \
  state NAME##_all { \
    headers.lanes32.setValid(); \
    headers.lanes16.setValid(); \
    headers.lanes8.setValid(); \
    headers.lanes4.setValid(); \
    headers.lanes2.setValid(); \
    headers.lanes1.setValid(); \
    headers.lane.setValid(); \
    transition accept; \
  } \
  state NAME##_32 { \
    headers.lanes32.setValid(); \
    transition select(headers.infold.ELEMENTS) { \
      16 &&& 0x10: NAME##_16; \
      8 &&& 0x18: NAME##_8; \
      4 &&& 0x1c: NAME##_4; \
      2 &&& 0x1e: NAME##_2; \
      1 &&& 0x1f: NAME##_1; \
      default: accept; \
    } \
  } \
  state NAME##_16 { \
    headers.lanes16.setValid(); \
    transition select(headers.infold.ELEMENTS) { \
      8 &&& 0x08: NAME##_8; \
      4 &&& 0x0c: NAME##_4; \
      2 &&& 0x0e: NAME##_2; \
      1 &&& 0x0f: NAME##_1; \
      default: accept; \
    } \
  } \
  state NAME##_8 { \
    headers.lanes8.setValid(); \
    transition select(headers.infold.ELEMENTS) { \
      4 &&& 0x04: NAME##_4; \
      2 &&& 0x06: NAME##_2; \
      1 &&& 0x07: NAME##_1; \
      default: accept; \
    } \
  } \
  state NAME##_4 { \
    headers.lanes4.setValid(); \
    transition select(headers.infold.ELEMENTS) { \
      2 &&& 0x02: NAME##_2; \
      1 &&& 0x03: NAME##_1; \
      default: accept; \
    } \
  } \
  state NAME##_2 { \
    headers.lanes2.setValid(); \
    transition select(headers.infold.ELEMENTS) { \
      1 &&& 0x01: NAME##_1; \
      default: accept; \
    } \
  } \
  state NAME##_1 { \
    headers.lanes1.setValid(); \
    transition accept; \
  }

// Moves past those of a packet, so that they are left out of what is sent.
#define SKIP_LANES(NAME) \
  state NAME { \
    transition select(headers.infold.ELEMENTS) { \
      64: NAME##_all; \
      32 &&& 0xffe0: NAME##_32; \
      16 &&& 0xfff0: NAME##_16; \
      8 &&& 0xfff8: NAME##_8; \
      4 &&& 0xfffc: NAME##_4; \
      2 &&& 0xfffe: NAME##_2; \
      1 &&& 0xffff: NAME##_1; \
      default: accept; \
    } \
  } \
  state NAME##_all { \
    packet.advance(1024); \
    packet.advance(512); \
    packet.advance(256); \
    packet.advance(128); \
    packet.advance(64); \
    packet.advance(32); \
    packet.advance(32); \
    transition accept; \
  } \
  state NAME##_32 { \
    packet.advance(1024); \
    transition select(headers.infold.ELEMENTS) { \
      16 &&& 0x10: NAME##_16; \
      8 &&& 0x18: NAME##_8; \
      4 &&& 0x1c: NAME##_4; \
      2 &&& 0x1e: NAME##_2; \
      1 &&& 0x1f: NAME##_1; \
      default: accept; \
    } \
  } \
  state NAME##_16 { \
    packet.advance(512); \
    transition select(headers.infold.ELEMENTS) { \
      8 &&& 0x08: NAME##_8; \
      4 &&& 0x0c: NAME##_4; \
      2 &&& 0x0e: NAME##_2; \
      1 &&& 0x0f: NAME##_1; \
      default: accept; \
    } \
  } \
  state NAME##_8 { \
    packet.advance(256); \
    transition select(headers.infold.ELEMENTS) { \
      4 &&& 0x04: NAME##_4; \
      2 &&& 0x06: NAME##_2; \
      1 &&& 0x07: NAME##_1; \
      default: accept; \
    } \
  } \
  state NAME##_4 { \
    packet.advance(128); \
    transition select(headers.infold.ELEMENTS) { \
      2 &&& 0x02: NAME##_2; \
      1 &&& 0x03: NAME##_1; \
      default: accept; \
    } \
  } \
  state NAME##_2 { \
    packet.advance(64); \
    transition select(headers.infold.ELEMENTS) { \
      1 &&& 0x01: NAME##_1; \
      default: accept; \
    } \
  } \
  state NAME##_1 { \
    packet.advance(32); \
    transition accept; \
  }

#define LENGTHS \
      (KIND_ADD, 0, 40, 40) : fit(); \
      (KIND_ADD, 1, 44, 44) : fit(); \
      (KIND_ADD, 2, 48, 48) : fit(); \
      (KIND_ADD, 3, 52, 52) : fit(); \
      (KIND_ADD, 4, 56, 56) : fit(); \
      (KIND_ADD, 5, 60, 60) : fit(); \
      (KIND_ADD, 6, 64, 64) : fit(); \
      (KIND_ADD, 7, 68, 68) : fit(); \
      (KIND_ADD, 8, 72, 72) : fit(); \
      (KIND_ADD, 9, 76, 76) : fit(); \
      (KIND_ADD, 10, 80, 80) : fit(); \
      (KIND_ADD, 11, 84, 84) : fit(); \
      (KIND_ADD, 12, 88, 88) : fit(); \
      (KIND_ADD, 13, 92, 92) : fit(); \
      (KIND_ADD, 14, 96, 96) : fit(); \
      (KIND_ADD, 15, 100, 100) : fit(); \
      (KIND_ADD, 16, 104, 104) : fit(); \
      (KIND_ADD, 17, 108, 108) : fit(); \
      (KIND_ADD, 18, 112, 112) : fit(); \
      (KIND_ADD, 19, 116, 116) : fit(); \
      (KIND_ADD, 20, 120, 120) : fit(); \
      (KIND_ADD, 21, 124, 124) : fit(); \
      (KIND_ADD, 22, 128, 128) : fit(); \
      (KIND_ADD, 23, 132, 132) : fit(); \
      (KIND_ADD, 24, 136, 136) : fit(); \
      (KIND_ADD, 25, 140, 140) : fit(); \
      (KIND_ADD, 26, 144, 144) : fit(); \
      (KIND_ADD, 27, 148, 148) : fit(); \
      (KIND_ADD, 28, 152, 152) : fit(); \
      (KIND_ADD, 29, 156, 156) : fit(); \
      (KIND_ADD, 30, 160, 160) : fit(); \
      (KIND_ADD, 31, 164, 164) : fit(); \
      (KIND_ADD, 32, 168, 168) : fit(); \
      (KIND_ADD, 33, 172, 172) : fit(); \
      (KIND_ADD, 34, 176, 176) : fit(); \
      (KIND_ADD, 35, 180, 180) : fit(); \
      (KIND_ADD, 36, 184, 184) : fit(); \
      (KIND_ADD, 37, 188, 188) : fit(); \
      (KIND_ADD, 38, 192, 192) : fit(); \
      (KIND_ADD, 39, 196, 196) : fit(); \
      (KIND_ADD, 40, 200, 200) : fit(); \
      (KIND_ADD, 41, 204, 204) : fit(); \
      (KIND_ADD, 42, 208, 208) : fit(); \
      (KIND_ADD, 43, 212, 212) : fit(); \
      (KIND_ADD, 44, 216, 216) : fit(); \
      (KIND_ADD, 45, 220, 220) : fit(); \
      (KIND_ADD, 46, 224, 224) : fit(); \
      (KIND_ADD, 47, 228, 228) : fit(); \
      (KIND_ADD, 48, 232, 232) : fit(); \
      (KIND_ADD, 49, 236, 236) : fit(); \
      (KIND_ADD, 50, 240, 240) : fit(); \
      (KIND_ADD, 51, 244, 244) : fit(); \
      (KIND_ADD, 52, 248, 248) : fit(); \
      (KIND_ADD, 53, 252, 252) : fit(); \
      (KIND_ADD, 54, 256, 256) : fit(); \
      (KIND_ADD, 55, 260, 260) : fit(); \
      (KIND_ADD, 56, 264, 264) : fit(); \
      (KIND_ADD, 57, 268, 268) : fit(); \
      (KIND_ADD, 58, 272, 272) : fit(); \
      (KIND_ADD, 59, 276, 276) : fit(); \
      (KIND_ADD, 60, 280, 280) : fit(); \
      (KIND_ADD, 61, 284, 284) : fit(); \
      (KIND_ADD, 62, 288, 288) : fit(); \
      (KIND_ADD, 63, 292, 292) : fit(); \
      (KIND_ADD, 64, 296, 296) : fit(); \
      (KIND_SKIP, 0, 40, 40) : fit(); \
      (KIND_SKIP, 1, 40, 40) : fit(); \
      (KIND_SKIP, 2, 40, 40) : fit(); \
      (KIND_SKIP, 3, 40, 40) : fit(); \
      (KIND_SKIP, 4, 40, 40) : fit(); \
      (KIND_SKIP, 5, 40, 40) : fit(); \
      (KIND_SKIP, 6, 40, 40) : fit(); \
      (KIND_SKIP, 7, 40, 40) : fit(); \
      (KIND_SKIP, 8, 40, 40) : fit(); \
      (KIND_SKIP, 9, 40, 40) : fit(); \
      (KIND_SKIP, 10, 40, 40) : fit(); \
      (KIND_SKIP, 11, 40, 40) : fit(); \
      (KIND_SKIP, 12, 40, 40) : fit(); \
      (KIND_SKIP, 13, 40, 40) : fit(); \
      (KIND_SKIP, 14, 40, 40) : fit(); \
      (KIND_SKIP, 15, 40, 40) : fit(); \
      (KIND_SKIP, 16, 40, 40) : fit(); \
      (KIND_SKIP, 17, 40, 40) : fit(); \
      (KIND_SKIP, 18, 40, 40) : fit(); \
      (KIND_SKIP, 19, 40, 40) : fit(); \
      (KIND_SKIP, 20, 40, 40) : fit(); \
      (KIND_SKIP, 21, 40, 40) : fit(); \
      (KIND_SKIP, 22, 40, 40) : fit(); \
      (KIND_SKIP, 23, 40, 40) : fit(); \
      (KIND_SKIP, 24, 40, 40) : fit(); \
      (KIND_SKIP, 25, 40, 40) : fit(); \
      (KIND_SKIP, 26, 40, 40) : fit(); \
      (KIND_SKIP, 27, 40, 40) : fit(); \
      (KIND_SKIP, 28, 40, 40) : fit(); \
      (KIND_SKIP, 29, 40, 40) : fit(); \
      (KIND_SKIP, 30, 40, 40) : fit(); \
      (KIND_SKIP, 31, 40, 40) : fit(); \
      (KIND_SKIP, 32, 40, 40) : fit(); \
      (KIND_SKIP, 33, 40, 40) : fit(); \
      (KIND_SKIP, 34, 40, 40) : fit(); \
      (KIND_SKIP, 35, 40, 40) : fit(); \
      (KIND_SKIP, 36, 40, 40) : fit(); \
      (KIND_SKIP, 37, 40, 40) : fit(); \
      (KIND_SKIP, 38, 40, 40) : fit(); \
      (KIND_SKIP, 39, 40, 40) : fit(); \
      (KIND_SKIP, 40, 40, 40) : fit(); \
      (KIND_SKIP, 41, 40, 40) : fit(); \
      (KIND_SKIP, 42, 40, 40) : fit(); \
      (KIND_SKIP, 43, 40, 40) : fit(); \
      (KIND_SKIP, 44, 40, 40) : fit(); \
      (KIND_SKIP, 45, 40, 40) : fit(); \
      (KIND_SKIP, 46, 40, 40) : fit(); \
      (KIND_SKIP, 47, 40, 40) : fit(); \
      (KIND_SKIP, 48, 40, 40) : fit(); \
      (KIND_SKIP, 49, 40, 40) : fit(); \
      (KIND_SKIP, 50, 40, 40) : fit(); \
      (KIND_SKIP, 51, 40, 40) : fit(); \
      (KIND_SKIP, 52, 40, 40) : fit(); \
      (KIND_SKIP, 53, 40, 40) : fit(); \
      (KIND_SKIP, 54, 40, 40) : fit(); \
      (KIND_SKIP, 55, 40, 40) : fit(); \
      (KIND_SKIP, 56, 40, 40) : fit(); \
      (KIND_SKIP, 57, 40, 40) : fit(); \
      (KIND_SKIP, 58, 40, 40) : fit(); \
      (KIND_SKIP, 59, 40, 40) : fit(); \
      (KIND_SKIP, 60, 40, 40) : fit(); \
      (KIND_SKIP, 61, 40, 40) : fit(); \
      (KIND_SKIP, 62, 40, 40) : fit(); \
      (KIND_SKIP, 63, 40, 40) : fit(); \
      (KIND_SKIP, 64, 40, 40) : fit(); \
      (KIND_QUERY, 0, 40, 40) : fit(); \
      (KIND_QUERY, 1, 40, 40) : fit(); \
      (KIND_QUERY, 2, 40, 40) : fit(); \
      (KIND_QUERY, 3, 40, 40) : fit(); \
      (KIND_QUERY, 4, 40, 40) : fit(); \
      (KIND_QUERY, 5, 40, 40) : fit(); \
      (KIND_QUERY, 6, 40, 40) : fit(); \
      (KIND_QUERY, 7, 40, 40) : fit(); \
      (KIND_QUERY, 8, 40, 40) : fit(); \
      (KIND_QUERY, 9, 40, 40) : fit(); \
      (KIND_QUERY, 10, 40, 40) : fit(); \
      (KIND_QUERY, 11, 40, 40) : fit(); \
      (KIND_QUERY, 12, 40, 40) : fit(); \
      (KIND_QUERY, 13, 40, 40) : fit(); \
      (KIND_QUERY, 14, 40, 40) : fit(); \
      (KIND_QUERY, 15, 40, 40) : fit(); \
      (KIND_QUERY, 16, 40, 40) : fit(); \
      (KIND_QUERY, 17, 40, 40) : fit(); \
      (KIND_QUERY, 18, 40, 40) : fit(); \
      (KIND_QUERY, 19, 40, 40) : fit(); \
      (KIND_QUERY, 20, 40, 40) : fit(); \
      (KIND_QUERY, 21, 40, 40) : fit(); \
      (KIND_QUERY, 22, 40, 40) : fit(); \
      (KIND_QUERY, 23, 40, 40) : fit(); \
      (KIND_QUERY, 24, 40, 40) : fit(); \
      (KIND_QUERY, 25, 40, 40) : fit(); \
      (KIND_QUERY, 26, 40, 40) : fit(); \
      (KIND_QUERY, 27, 40, 40) : fit(); \
      (KIND_QUERY, 28, 40, 40) : fit(); \
      (KIND_QUERY, 29, 40, 40) : fit(); \
      (KIND_QUERY, 30, 40, 40) : fit(); \
      (KIND_QUERY, 31, 40, 40) : fit(); \
      (KIND_QUERY, 32, 40, 40) : fit(); \
      (KIND_QUERY, 33, 40, 40) : fit(); \
      (KIND_QUERY, 34, 40, 40) : fit(); \
      (KIND_QUERY, 35, 40, 40) : fit(); \
      (KIND_QUERY, 36, 40, 40) : fit(); \
      (KIND_QUERY, 37, 40, 40) : fit(); \
      (KIND_QUERY, 38, 40, 40) : fit(); \
      (KIND_QUERY, 39, 40, 40) : fit(); \
      (KIND_QUERY, 40, 40, 40) : fit(); \
      (KIND_QUERY, 41, 40, 40) : fit(); \
      (KIND_QUERY, 42, 40, 40) : fit(); \
      (KIND_QUERY, 43, 40, 40) : fit(); \
      (KIND_QUERY, 44, 40, 40) : fit(); \
      (KIND_QUERY, 45, 40, 40) : fit(); \
      (KIND_QUERY, 46, 40, 40) : fit(); \
      (KIND_QUERY, 47, 40, 40) : fit(); \
      (KIND_QUERY, 48, 40, 40) : fit(); \
      (KIND_QUERY, 49, 40, 40) : fit(); \
      (KIND_QUERY, 50, 40, 40) : fit(); \
      (KIND_QUERY, 51, 40, 40) : fit(); \
      (KIND_QUERY, 52, 40, 40) : fit(); \
      (KIND_QUERY, 53, 40, 40) : fit(); \
      (KIND_QUERY, 54, 40, 40) : fit(); \
      (KIND_QUERY, 55, 40, 40) : fit(); \
      (KIND_QUERY, 56, 40, 40) : fit(); \
      (KIND_QUERY, 57, 40, 40) : fit(); \
      (KIND_QUERY, 58, 40, 40) : fit(); \
      (KIND_QUERY, 59, 40, 40) : fit(); \
      (KIND_QUERY, 60, 40, 40) : fit(); \
      (KIND_QUERY, 61, 40, 40) : fit(); \
      (KIND_QUERY, 62, 40, 40) : fit(); \
      (KIND_QUERY, 63, 40, 40) : fit(); \
      (KIND_QUERY, 64, 40, 40) : fit();

#endif
