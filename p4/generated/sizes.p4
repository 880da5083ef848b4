// SPDX-License-Identifier: Apache-2.0
//
// How much there is of everything.
// Written by tools/p4_elements.py.
#ifndef INFOLD_SIZES
#define INFOLD_SIZES

#define ELEMENTS_MAX 64
#define SLOTS_MAX 1024
#define COPIES_MAX 2048
#define JOBS_MAX 16
#define SENDERS_MAX 512
#define STATIONS_MAX 1024
#define FLOOD_GROUP 1

// For checksums, which take headers and no stacks.
#define ALL_ELEMENTS(headers) \
  headers.elements8[0], headers.elements8[1], headers.elements8[2], headers.elements8[3], \
  headers.elements8[4], headers.elements8[5], headers.elements8[6], headers.elements8[7], \
  headers.elements8[8], headers.elements8[9], headers.elements8[10], headers.elements8[11], \
  headers.elements8[12], headers.elements8[13], headers.elements8[14], headers.elements8[15], \
  headers.elements8[16], headers.elements8[17], headers.elements8[18], headers.elements8[19], \
  headers.elements8[20], headers.elements8[21], headers.elements8[22], headers.elements8[23], \
  headers.elements8[24], headers.elements8[25], headers.elements8[26], headers.elements8[27], \
  headers.elements8[28], headers.elements8[29], headers.elements8[30], headers.elements8[31], \
  headers.elements8[32], headers.elements8[33], headers.elements8[34], headers.elements8[35], \
  headers.elements8[36], headers.elements8[37], headers.elements8[38], headers.elements8[39], \
  headers.elements8[40], headers.elements8[41], headers.elements8[42], headers.elements8[43], \
  headers.elements8[44], headers.elements8[45], headers.elements8[46], headers.elements8[47], \
  headers.elements8[48], headers.elements8[49], headers.elements8[50], headers.elements8[51], \
  headers.elements8[52], headers.elements8[53], headers.elements8[54], headers.elements8[55], \
  headers.elements8[56], headers.elements8[57], headers.elements8[58], headers.elements8[59], \
  headers.elements8[60], headers.elements8[61], headers.elements8[62], headers.elements8[63], \
  headers.elements16[0], headers.elements16[1], headers.elements16[2], headers.elements16[3], \
  headers.elements16[4], headers.elements16[5], headers.elements16[6], headers.elements16[7], \
  headers.elements16[8], headers.elements16[9], headers.elements16[10], headers.elements16[11], \
  headers.elements16[12], headers.elements16[13], headers.elements16[14], headers.elements16[15], \
  headers.elements16[16], headers.elements16[17], headers.elements16[18], headers.elements16[19], \
  headers.elements16[20], headers.elements16[21], headers.elements16[22], headers.elements16[23], \
  headers.elements16[24], headers.elements16[25], headers.elements16[26], headers.elements16[27], \
  headers.elements16[28], headers.elements16[29], headers.elements16[30], headers.elements16[31], \
  headers.elements16[32], headers.elements16[33], headers.elements16[34], headers.elements16[35], \
  headers.elements16[36], headers.elements16[37], headers.elements16[38], headers.elements16[39], \
  headers.elements16[40], headers.elements16[41], headers.elements16[42], headers.elements16[43], \
  headers.elements16[44], headers.elements16[45], headers.elements16[46], headers.elements16[47], \
  headers.elements16[48], headers.elements16[49], headers.elements16[50], headers.elements16[51], \
  headers.elements16[52], headers.elements16[53], headers.elements16[54], headers.elements16[55], \
  headers.elements16[56], headers.elements16[57], headers.elements16[58], headers.elements16[59], \
  headers.elements16[60], headers.elements16[61], headers.elements16[62], headers.elements16[63], \
  headers.elements32[0], headers.elements32[1], headers.elements32[2], headers.elements32[3], \
  headers.elements32[4], headers.elements32[5], headers.elements32[6], headers.elements32[7], \
  headers.elements32[8], headers.elements32[9], headers.elements32[10], headers.elements32[11], \
  headers.elements32[12], headers.elements32[13], headers.elements32[14], headers.elements32[15], \
  headers.elements32[16], headers.elements32[17], headers.elements32[18], headers.elements32[19], \
  headers.elements32[20], headers.elements32[21], headers.elements32[22], headers.elements32[23], \
  headers.elements32[24], headers.elements32[25], headers.elements32[26], headers.elements32[27], \
  headers.elements32[28], headers.elements32[29], headers.elements32[30], headers.elements32[31], \
  headers.elements32[32], headers.elements32[33], headers.elements32[34], headers.elements32[35], \
  headers.elements32[36], headers.elements32[37], headers.elements32[38], headers.elements32[39], \
  headers.elements32[40], headers.elements32[41], headers.elements32[42], headers.elements32[43], \
  headers.elements32[44], headers.elements32[45], headers.elements32[46], headers.elements32[47], \
  headers.elements32[48], headers.elements32[49], headers.elements32[50], headers.elements32[51], \
  headers.elements32[52], headers.elements32[53], headers.elements32[54], headers.elements32[55], \
  headers.elements32[56], headers.elements32[57], headers.elements32[58], headers.elements32[59], \
  headers.elements32[60], headers.elements32[61], headers.elements32[62], headers.elements32[63]

#endif
