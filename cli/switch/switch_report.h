// SPDX-License-Identifier: Apache-2.0
//
// What a switch has counted, in the same words for both planes: as metrics while it runs, and as
// its report at the end.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "cli/line/output.h"
#include "control/service/control_server.h"
#include "io/page/page_server.h"
#include "site/switch_status.h"

namespace infold::cli {

// In the format of status/prometheus.h.
std::string metrics_text(const site::SwitchStatus& status);

// At the start: the most that the control plane takes.
void report_joining(Output& output, const control::ControlServer::Budget& joining);

void report_end(Output& output, const site::SwitchStatus& status);

// Hands out metrics at /metrics for as long as it lives; `look` is called on a thread of its own.
// Null if the address is not set.
base::Result<std::unique_ptr<io::PageServer>> serve_metrics(
    const io::SocketAddress& metrics, std::function<site::SwitchStatus()> look);

// HOST:PORT, empty without a page.
std::string metrics_place(const io::PageServer* page);

}  // namespace infold::cli
