// SPDX-License-Identifier: Apache-2.0
//
// A call as the transfers that a rank of ours makes for it, with zeros for values.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/worker/worker.h"
#include "trace/call_shape.h"
#include "whatif/setting.h"

namespace infold::whatif {

// In the order in which all ranks submit them. Codec and context are missing.
// Requires: find_refusal() finds nothing.
std::vector<core::TransferRequest> transfers_of(const trace::CallShape& shape,
                                                const Setting& setting);

// Why the wire format of the setting cannot carry such a call, or nothing.
std::optional<std::string> find_refusal(const trace::CallShape& shape, const Setting& setting);

}  // namespace infold::whatif
