/* SPDX-License-Identifier: Apache-2.0
 *
 * The host calls this program through the kernel's test-run to end a job. The program is not
 * attached anywhere. The job's own lock decides which reported end was the first.
 */
#pragma once

#include <linux/pkt_cls.h>

#include "planes/xdp/bpf/maps.h"

/* The arguments are a job's index, the reason, a rank, and the other rank. */
SEC("tc") int end_job(struct __sk_buff* skb) {
  struct infold_xdp_job* const job = entry(&jobs, skb->cb[0]);
  if (!job) return TC_ACT_SHOT;
  struct infold_abort abort = {0};
  abort.reason = infold_to_be16((uint16_t)skb->cb[1]);
  abort.rank = infold_to_be16((uint16_t)skb->cb[2]);
  abort.other = infold_to_be16((uint16_t)skb->cb[3]);
  bpf_spin_lock(&job->lock);
  if (!job->ended) {
    job->ended = 1;
    job->root_knows |= !job->has_parent;
    job->abort = abort;
  }
  bpf_spin_unlock(&job->lock);
  return TC_ACT_OK;
}
