// SPDX-License-Identifier: Apache-2.0
//
// Draws two panels that share the axis of steps. A curve is a polyline through every step.

#include "study/demo/demo_plot.h"

#include <algorithm>

#include <fmt/format.h>

#include "study/desk/svg.h"

namespace infold::demo {
namespace {

constexpr double kWidth = 860;
constexpr double kLeft = 88;
constexpr double kRight = kWidth - 30;

template <typename Value>
desk::Points points_of(const std::vector<StepReport>& steps, Value value) {
  desk::Points points;
  for (const StepReport& step : steps) {
    points.emplace_back(static_cast<double>(step.step), static_cast<double>(value(step)));
  }
  return points;
}

std::string draw_losses(const desk::Panel& panel, const DemoPlot& plot) {
  const auto loss = [](const StepReport& step) { return step.loss; };
  const desk::LegendEntry legend[] = {
      {"together", fmt::format("{} workers through infold", plot.workers)},
      {"alone", "one worker, the same batches"}};
  return desk::draw_y_axis(panel, desk::ticks_of(panel.y), "training loss") +
         desk::draw_curve(panel, "together", points_of(plot.together, loss)) +
         desk::draw_curve(panel, "alone", points_of(plot.alone, loss)) +
         desk::draw_legend(kRight - 274, panel.y.pixel_at_high + 22, 270, legend);
}

std::string draw_packets(const desk::Panel& panel, const DemoPlot& plot) {
  const auto lost = [](const StepReport& step) { return step.packets.lost; };
  const auto resent = [](const StepReport& step) { return step.packets.resent; };
  const StepReport last = plot.together.empty() ? StepReport{} : plot.together.back();
  const desk::LegendEntry legend[] = {
      {"lost", fmt::format("lost so far ({} in all)", last.packets.lost)},
      {"resent", fmt::format("retransmitted so far ({})", last.packets.resent)}};
  std::vector<desk::Tick> steps = desk::ticks_of(panel.x);
  // Steps are whole numbers, so the axis must not have ticks between them.
  std::erase_if(steps,
                [](const desk::Tick& tick) { return tick.label.find('.') != std::string::npos; });
  return desk::draw_y_axis(panel, desk::ticks_of(panel.y), "packets") +
         desk::draw_x_axis(panel, steps, "training step") +
         desk::draw_curve(panel, "lost", points_of(plot.together, lost)) +
         desk::draw_curve(panel, "resent", points_of(plot.together, resent)) +
         desk::draw_legend(kLeft + 10, panel.y.pixel_at_high + 20, 270, legend);
}

}  // namespace

std::string draw_demo_plot(const DemoPlot& plot) {
  double loss_max = 0;
  double packets_max = 1;
  for (const StepReport& step : plot.alone) loss_max = std::max(loss_max, step.loss);
  for (const StepReport& step : plot.together) {
    loss_max = std::max(loss_max, step.loss);
    packets_max = std::max({packets_max, static_cast<double>(step.packets.lost),
                            static_cast<double>(step.packets.resent)});
  }
  const double count =
      static_cast<double>(std::max({plot.alone.size(), plot.together.size(), std::size_t{1}}));
  const desk::Scale steps{0, count, kLeft, kRight};

  const std::string description =
      fmt::format("Training loss of {} workers and of one", plot.workers);
  const std::string title =
      fmt::format("{} workers, {:g} % packet loss: the same training as one worker", plot.workers,
                  plot.loss_percent);
  const std::string subtitle = fmt::format(
      "gradients summed by an infold switch in {}; every link loses packets, and "
      "workers retransmit them",
      plot.wire);
  desk::Picture picture;
  picture.width = kWidth;
  picture.description = description;
  picture.title = title;
  picture.subtitle = subtitle;
  return desk::begin_picture(picture) +
         draw_losses({steps, desk::linear_scale(loss_max, 330, 72)}, plot) +
         draw_packets({steps, desk::linear_scale(packets_max, 500, 372)}, plot) +
         std::string(desk::kSvgEnd);
}

}  // namespace infold::demo
