// SPDX-License-Identifier: Apache-2.0
//
// A big-endian field cannot be compared or added before it is converted.
// expect: no match for .operator\+

#include "wire/infold_wire.h"

uint32_t next_round(infold_be32 round) {
#ifdef INFOLD_EXPECT_FAIL
  return round + 1;
#else
  return infold_from_be32(round) + 1;
#endif
}
