/* SPDX-License-Identifier: Apache-2.0
 *
 * The aggregator as a packet program, one object, so that all programs share the maps. The page
 * docs/design/switches/018-kernel-aggregator.md says how its parts fit.
 */
#include "bpf/answer.h"
#include "bpf/blocks.h"
#include "bpf/ending.h"
#include "bpf/entry.h"
#include "bpf/host.h"
#include "bpf/ingress.h"
#include "bpf/measure/bounce.h"
#include "bpf/measure/rewind.h"
#include "bpf/native/add.h"
#include "bpf/native/results.h"
#include "bpf/parent.h"
#include "bpf/specials.h"
#include "bpf/take.h"
#include "bpf/write.h"

char licence[] SEC("license") = "Apache-2.0";
