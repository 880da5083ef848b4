// SPDX-License-Identifier: Apache-2.0
#include "io/udp/checksum_filter.h"

#include <linux/filter.h>
#include <sys/socket.h>

namespace infold::io {

// The filter of a UDP socket sees the datagram from the UDP header on. A field of 0 means "no
// checksum", because a sender writes a computed 0 as 0xFFFF. If the checksum is left for a card to
// complete, the field holds the sum of the pseudo-header, which is never 0.
bool drop_datagrams_without_checksum(int socket) {
  constexpr unsigned kChecksumAt = 6;
  constexpr unsigned kWhole = ~0U;
  sock_filter steps[] = {
      BPF_STMT(BPF_LD | BPF_H | BPF_ABS, kChecksumAt),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 0, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, 0),
      BPF_STMT(BPF_RET | BPF_K, kWhole),
  };
  const sock_fprog program = {sizeof(steps) / sizeof(steps[0]), steps};
  return setsockopt(socket, SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof(program)) == 0;
}

}  // namespace infold::io
