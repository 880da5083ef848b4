// SPDX-License-Identifier: Apache-2.0
//
// A call as the transfers that a rank of ours makes for it.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/instant.h"
#include "core/worker/worker.h"
#include "sim/nodes/worker_node.h"
#include "trace/call_shape.h"
#include "whatif/setting.h"

namespace infold::whatif {

// In the order in which all ranks submit them. They have no values yet.
// Requires: find_refusal() finds nothing.
std::vector<core::TransferRequest> transfers_of(const trace::CallShape& shape,
                                                const Setting& setting);

// Makes a call at a rank's worker, with zeros. `ended` runs when all transfers have succeeded.
// Requires: one transfer at least. The network then has to wake the node.
void add_call(sim::WorkerNode& node, base::Instant now,
              const std::vector<core::TransferRequest>& transfers,
              const std::function<void()>& ended);

// Why the wire format of the setting cannot carry such a call, or nothing.
std::optional<std::string> find_refusal(const trace::CallShape& shape, const Setting& setting);

}  // namespace infold::whatif
