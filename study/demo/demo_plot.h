// SPDX-License-Identifier: Apache-2.0
//
// The demo's picture: both loss curves, and the counts of lost and retransmitted packets, as an SVG
// that adapts to light and dark pages. Pure.
#pragma once

#include <string>
#include <vector>

#include "study/demo/demo_training.h"

namespace infold::demo {

struct DemoPlot {
  int workers = 0;
  double loss_percent = 0;  // share of packets lost, in percent
  std::string wire;
  const std::vector<StepReport>& alone;
  const std::vector<StepReport>& together;
};

std::string draw_demo_plot(const DemoPlot& plot);

}  // namespace infold::demo
