// SPDX-License-Identifier: Apache-2.0
//
// Two panels that share the axis of steps. Curves are polylines of every step; axes have few,
// round ticks. The dark set of colours is a media query, which viewers without one ignore.

#include "cli/demo_plot.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

namespace infold::cli {
namespace {

constexpr const char* kStyle = R"(<style>
  svg { background: #ffffff; }
  text { font: 13px system-ui, "DejaVu Sans", sans-serif; fill: #24292f; }
  .title { font-size: 17px; font-weight: 600; }
  .muted { fill: #57606a; }
  .paper { fill: #ffffff; }
  .grid { stroke: #d8dee4; stroke-width: 1; }
  .line { fill: none; stroke-linejoin: round; stroke-width: 2; }
  .together { stroke: #0969da; stroke-width: 5; stroke-opacity: 0.45; }
  .alone { stroke: #24292f; stroke-width: 1.4; stroke-dasharray: 6 3; }
  .lost { stroke: #cf222e; }
  .resent { stroke: #1a7f37; stroke-dasharray: 6 3; }
  @media (prefers-color-scheme: dark) {
    svg { background: #0d1117; }
    text { fill: #e6edf3; }
    .muted { fill: #9198a1; }
    .paper { fill: #0d1117; }
    .grid { stroke: #30363d; }
    .together { stroke: #4493f8; stroke-opacity: 0.6; }
    .alone { stroke: #e6edf3; }
    .lost { stroke: #f85149; }
    .resent { stroke: #3fb950; }
  }
</style>
)";

constexpr double kWidth = 860;
constexpr double kHeight = 560;
constexpr double kLeft = 88;
constexpr double kRight = kWidth - 30;

// A rectangle of the picture with its scales.
struct Panel {
  double top;
  double bottom;
  double x_max;
  double y_max;

  double x(double step) const { return kLeft + (kRight - kLeft) * step / x_max; }
  double y(double value) const { return bottom - (bottom - top) * value / y_max; }
};

// 1, 2 or 5 times a power of ten, so that an axis has about five of them.
double tick_for(double most) {
  const double rough = std::max(most, 1e-9) / 5;
  const double power = std::pow(10.0, std::floor(std::log10(rough)));
  for (const double factor : {1.0, 2.0, 5.0}) {
    if (factor * power >= rough * 0.999) return factor * power;
  }
  return 10 * power;
}

double round_up(double most) {
  const double tick = tick_for(most);
  return std::max(std::ceil(most / tick), 1.0) * tick;
}

std::string draw_axes(const Panel& panel, std::string_view y_title, bool with_steps) {
  std::string svg;
  const double y_tick = tick_for(panel.y_max);
  for (double value = 0; value <= panel.y_max * 1.001; value += y_tick) {
    svg += fmt::format(
        "<line class=\"grid\" x1=\"{}\" x2=\"{}\" y1=\"{:.1f}\" y2=\"{:.1f}\"/>"
        "<text x=\"{}\" y=\"{:.1f}\" text-anchor=\"end\">{:g}</text>\n",
        kLeft, kRight, panel.y(value), panel.y(value), kLeft - 8, panel.y(value) + 4.5, value);
  }
  const double middle = (panel.top + panel.bottom) / 2;
  svg += fmt::format(
      "<text class=\"muted\" transform=\"translate(22 {:.1f}) rotate(-90)\" "
      "text-anchor=\"middle\">{}</text>\n",
      middle, y_title);
  if (!with_steps) return svg;
  const double x_tick = std::max(1.0, tick_for(panel.x_max));
  for (double step = 0; step <= panel.x_max * 1.001; step += x_tick) {
    svg += fmt::format("<text x=\"{:.1f}\" y=\"{}\" text-anchor=\"middle\">{:g}</text>\n",
                       panel.x(step), panel.bottom + 20, step);
  }
  return svg + fmt::format(
                   "<text class=\"muted\" x=\"{}\" y=\"{}\" text-anchor=\"middle\">"
                   "training step</text>\n",
                   (kLeft + kRight) / 2, panel.bottom + 42);
}

template <typename Value>
std::string draw_curve(const Panel& panel, std::string_view style,
                       const std::vector<StepReport>& steps, Value value) {
  std::string svg = fmt::format("<polyline class=\"line {}\" points=\"", style);
  for (const StepReport& step : steps) {
    svg += fmt::format("{:.1f},{:.1f} ", panel.x(static_cast<double>(step.step)),
                       panel.y(static_cast<double>(value(step))));
  }
  return svg + "\"/>\n";
}

struct LegendEntry {
  std::string_view style;
  std::string text;
};

std::string draw_legend(double right, double top, const std::vector<LegendEntry>& entries) {
  std::string svg;
  constexpr double kEntryWidth = 270;
  double y = top;
  svg += fmt::format("<rect class=\"paper\" x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\"/>\n",
                     right - kEntryWidth, top - 14, kEntryWidth,
                     22.0 * static_cast<double>(entries.size()));
  for (const LegendEntry& entry : entries) {
    svg += fmt::format(
        "<line class=\"line {}\" x1=\"{}\" x2=\"{}\" y1=\"{}\" y2=\"{}\"/>"
        "<text x=\"{}\" y=\"{}\">{}</text>\n",
        entry.style, right - kEntryWidth + 6, right - kEntryWidth + 40, y - 3, y - 3,
        right - kEntryWidth + 50, y + 1.5, entry.text);
    y += 22;
  }
  return svg;
}

}  // namespace

std::string draw_demo_plot(const DemoPlot& plot) {
  double loss_max = 0;
  for (const StepReport& step : plot.alone) loss_max = std::max(loss_max, step.loss);
  for (const StepReport& step : plot.together) loss_max = std::max(loss_max, step.loss);
  double packets_max = 1;
  double lost = 0;
  double resent = 0;
  for (const StepReport& step : plot.together) {
    lost = static_cast<double>(step.packets_lost);
    resent = static_cast<double>(step.packets_resent);
    packets_max = std::max({packets_max, lost, resent});
  }
  const double steps =
      static_cast<double>(std::max({plot.alone.size(), plot.together.size(), std::size_t{1}}));
  const Panel losses{72, 330, steps, round_up(loss_max)};
  const Panel packets{372, 500, steps, round_up(packets_max)};

  std::string svg = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0} {1}\" width=\"{0}\" "
      "height=\"{1}\" role=\"img\" aria-label=\"Training loss of {2} workers and of one\">\n",
      kWidth, kHeight, plot.workers);
  svg += kStyle;
  svg += fmt::format(
      "<text class=\"title\" x=\"{}\" y=\"30\">{} workers, {:g} % packet loss: "
      "the same training as one worker</text>\n",
      kLeft, plot.workers, plot.loss_percent);
  svg += fmt::format(
      "<text class=\"muted\" x=\"{}\" y=\"51\">gradients summed by an infold "
      "aggregator in {}; every link loses packets, every loss is made good</text>\n",
      kLeft, plot.wire);
  svg += draw_axes(losses, "training loss", false);
  svg += draw_curve(losses, "together", plot.together, [](const StepReport& s) { return s.loss; });
  svg += draw_curve(losses, "alone", plot.alone, [](const StepReport& s) { return s.loss; });
  svg += draw_legend(kRight - 4, losses.top + 22,
                     {{"together", fmt::format("{} workers through infold", plot.workers)},
                      {"alone", "one worker, the same batches"}});
  svg += draw_axes(packets, "packets", true);
  svg += draw_curve(packets, "lost", plot.together,
                    [](const StepReport& s) { return s.packets_lost; });
  svg += draw_curve(packets, "resent", plot.together,
                    [](const StepReport& s) { return s.packets_resent; });
  svg += draw_legend(kLeft + 280, packets.top + 20,
                     {{"lost", fmt::format("lost so far ({:.0f} in all)", lost)},
                      {"resent", fmt::format("sent again so far ({:.0f})", resent)}});
  return svg + "</svg>\n";
}

}  // namespace infold::cli
