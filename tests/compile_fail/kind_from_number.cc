// SPDX-License-Identifier: Apache-2.0
//
// A byte from the wire becomes a Kind only in the parser, which has checked it.
// expect: (cannot convert|invalid conversion)

#include "core/packet/packet.h"

infold::core::Header header_of(unsigned char byte) {
  infold::core::Header header;
#ifdef INFOLD_EXPECT_FAIL
  header.kind = byte & 0xF;
#else
  header.kind = static_cast<infold::core::Kind>(byte & 0xF);
#endif
  return header;
}
