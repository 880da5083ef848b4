/* SPDX-License-Identifier: Apache-2.0
 *
 * The aggregator as a packet program. It is one object, so that all programs share the maps. The
 * page docs/design/switches/018-kernel-aggregator.md says how its parts fit together.
 */
#include "planes/xdp/bpf/answer.h"
#include "planes/xdp/bpf/blocks.h"
#include "planes/xdp/bpf/ending.h"
#include "planes/xdp/bpf/entry.h"
#include "planes/xdp/bpf/host.h"
#include "planes/xdp/bpf/ingress.h"
#include "planes/xdp/bpf/measure/bounce.h"
#include "planes/xdp/bpf/measure/rewind.h"
#include "planes/xdp/bpf/native/add.h"
#include "planes/xdp/bpf/native/results.h"
#include "planes/xdp/bpf/parent.h"
#include "planes/xdp/bpf/specials.h"
#include "planes/xdp/bpf/take.h"
#include "planes/xdp/bpf/write.h"

char licence[] SEC("license") = "Apache-2.0";
