// SPDX-License-Identifier: Apache-2.0
//
// Presents a switch's metrics (status/switch_metrics.h) in the same words for all planes: at an
// address while it runs, and as a report at its end.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "cli/line/output.h"
#include "io/page/page_server.h"
#include "join/service/join_server.h"
#include "status/switch_metrics.h"

namespace infold::cli {

// Prints the limits on joining when the switch starts.
void report_joining(Output& output, const join::JoinServer::Budget& joining);

void report_end(Output& output, const status::SwitchMetrics& metrics);

// Returns a server that offers all metrics at /metrics as long as it lives. It calls `look` on its
// own thread. The server is null if the address is not set. The function returns nothing if it
// cannot serve the page, after it has printed why.
std::optional<std::unique_ptr<io::PageServer>> serve_metrics(
    Output& output, const io::SocketAddress& metrics, std::function<status::SwitchMetrics()> look);

// Returns HOST:PORT, or an empty text without a server.
std::string metrics_place(const io::PageServer* page);

}  // namespace infold::cli
