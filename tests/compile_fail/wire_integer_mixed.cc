// SPDX-License-Identifier: Apache-2.0
//
// Big-endian fields of different widths cannot be taken for each other.
// expect: (could not convert|cannot convert)

#include "wire/infold_wire.h"

uint32_t slot_of(infold_header header) {
#ifdef INFOLD_EXPECT_FAIL
  return infold_from_be32(header.slot);
#else
  return infold_from_be16(header.slot);
#endif
}
