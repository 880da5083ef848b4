// SPDX-License-Identifier: Apache-2.0
//
// A switch's counters, in the same words for all planes: as metrics while it runs, and as its
// report at the end.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "cli/line/output.h"
#include "control/service/control_server.h"
#include "io/page/page_server.h"
#include "site/switch_status.h"

namespace infold::cli {

// Returns all metrics in the format of status/prometheus.h.
std::string metrics_text(const site::SwitchStatus& status);

// Prints the limits of the control plane, at the start.
void report_joining(Output& output, const control::ControlServer::Budget& joining);

void report_end(Output& output, const site::SwitchStatus& status);

// Serves metrics at /metrics as long as it lives. It calls `look` on a thread of its own. A null
// page if the address is not set. Nothing after it has said why it cannot serve them.
std::optional<std::unique_ptr<io::PageServer>> serve_metrics(
    Output& output, const io::SocketAddress& metrics, std::function<site::SwitchStatus()> look);

// Returns HOST:PORT, empty without a page.
std::string metrics_place(const io::PageServer* page);

}  // namespace infold::cli
