// SPDX-License-Identifier: Apache-2.0
#include "io/udp/checksum_filter.h"

#include <linux/filter.h>
#include <sys/socket.h>

namespace infold::io {

// A filter of a UDP socket sees the datagram from its UDP header on. A checksum of 0 is sent as
// 0xFFFF. If a card or the sender's kernel has not completed the checksum, the field has the sum of
// the pseudo-header, which is never 0.
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
