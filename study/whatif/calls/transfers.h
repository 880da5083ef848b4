// SPDX-License-Identifier: Apache-2.0
//
// Turns a call into the transfers that one of infold's ranks makes for it.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/instant.h"
#include "core/worker/worker.h"
#include "study/sim/nodes/worker_node.h"
#include "study/whatif/setting.h"
#include "trace/call_shape.h"

namespace infold::whatif {

// Returns the transfers in the order in which all ranks submit them. They do not have values yet.
// Requires: find_refusal() finds nothing.
std::vector<core::TransferRequest> transfers_of(const trace::CallShape& shape,
                                                const Setting& setting);

// Makes a call at a rank's worker, with zeros. `ended` runs when all transfers have succeeded.
// Requires: at least one transfer. The network must then wake the node.
void add_call(sim::WorkerNode& node, base::Instant now,
              const std::vector<core::TransferRequest>& transfers,
              const std::function<void()>& ended);

// Returns why the wire format of the setting cannot carry such a call, or nothing.
std::optional<std::string> find_refusal(const trace::CallShape& shape, const Setting& setting);

}  // namespace infold::whatif
