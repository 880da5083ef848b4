// SPDX-License-Identifier: Apache-2.0
//
// The dark colours are in a media query, which viewers without support for media queries ignore.

#include "study/desk/svg.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

namespace infold::desk {
namespace {

// The series use the colours of Okabe and Ito, which colour-blind readers can tell apart.
constexpr const char* kStyle = R"(<style>
  svg { background: #ffffff; }
  text { font: 13px system-ui, "DejaVu Sans", sans-serif; fill: #24292f; }
  .title { font-size: 17px; font-weight: 600; }
  .muted { fill: #57606a; }
  .paper { fill: #ffffff; fill-opacity: 0.85; }
  .grid { stroke: #d8dee4; stroke-width: 1; }
  .line { fill: none; stroke-linejoin: round; stroke-width: 2; }
  .together { stroke: #0969da; stroke-width: 5; stroke-opacity: 0.45; }
  .alone { stroke: #24292f; stroke-width: 1.4; stroke-dasharray: 6 3; }
  .lost { stroke: #cf222e; }
  .resent { stroke: #1a7f37; stroke-dasharray: 6 3; }
  .bound { stroke: #57606a; stroke-width: 1.4; stroke-dasharray: 2 4; }
  .bound-ring { stroke: #57606a; stroke-width: 1.4; stroke-dasharray: 9 4; }
  .series-0 { stroke: #0969da; stroke-width: 3; } .mark.series-0 { fill: #0969da; }
  .series-1 { stroke: #56b4e9; } .mark.series-1 { fill: #56b4e9; }
  .series-2 { stroke: #7a5af5; } .mark.series-2 { fill: #7a5af5; }
  .series-3 { stroke: #d55e00; } .mark.series-3 { fill: #d55e00; }
  .series-4 { stroke: #e69f00; } .mark.series-4 { fill: #e69f00; }
  .series-5 { stroke: #009e73; } .mark.series-5 { fill: #009e73; }
  .series-6 { stroke: #cc79a7; } .mark.series-6 { fill: #cc79a7; }
  .series-7 { stroke: #8b6f47; } .mark.series-7 { fill: #8b6f47; }
  .series-8 { stroke: #999999; } .mark.series-8 { fill: #999999; }
  .series-9 { stroke: #b3261e; } .mark.series-9 { fill: #b3261e; }
  circle.mark, rect.mark { stroke: none; }
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
    .bound, .bound-ring { stroke: #9198a1; }
    .series-0 { stroke: #4493f8; } .mark.series-0 { fill: #4493f8; }
  }
</style>
)";

// Returns 1, 2 or 5 times a power of ten, chosen so that an axis has about five ticks.
double tick_for(double most) {
  const double rough = std::max(most, 1e-9) / 5;
  const double power = std::pow(10.0, std::floor(std::log10(rough)));
  for (const double factor : {1.0, 2.0, 5.0}) {
    if (factor * power >= rough * 0.999) return factor * power;
  }
  return 10 * power;
}

}  // namespace

double Scale::pixel(double value) const {
  const double share = logarithmic ? std::log(std::max(value, low) / low) / std::log(high / low)
                                   : (value - low) / (high - low);
  return pixel_at_low + (pixel_at_high - pixel_at_low) * share;
}

Scale linear_scale(double most, double pixel_at_low, double pixel_at_high) {
  const double tick = tick_for(most);
  return {0, std::max(std::ceil(most / tick), 1.0) * tick, pixel_at_low, pixel_at_high};
}

Scale decade_scale(double least, double most, double pixel_at_low, double pixel_at_high) {
  const double low = std::floor(std::log10(least) + 1e-9);
  const double high = std::max(std::ceil(std::log10(most) - 1e-9), low + 1);
  return {std::pow(10.0, low), std::pow(10.0, high), pixel_at_low, pixel_at_high, true};
}

std::vector<Tick> ticks_of(const Scale& scale) {
  std::vector<Tick> ticks;
  const double step = tick_for(scale.high - scale.low);
  double value = scale.low;
  while (value <= scale.high * 1.001) {
    ticks.push_back({value, fmt::format("{:g}", value)});
    value = scale.logarithmic ? value * 10 : value + step;
  }
  return ticks;
}

std::string begin_picture(const Picture& picture) {
  return fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0} {1}\" width=\"{0}\" "
      "height=\"{1}\" role=\"img\" aria-label=\"{2}\">\n{3}"
      "<text class=\"title\" x=\"{4}\" y=\"30\">{5}</text>\n"
      "<text class=\"muted\" x=\"{4}\" y=\"51\">{6}</text>\n"
      "<text class=\"muted\" x=\"{4}\" y=\"{7}\">{8}</text>\n",
      picture.width, picture.height, escape_markup(picture.description), kStyle, picture.left,
      escape_markup(picture.title), escape_markup(picture.subtitle), picture.height - 14,
      escape_markup(picture.footer));
}

std::string draw_y_axis(const Panel& panel, std::span<const Tick> ticks, std::string_view title) {
  std::string svg;
  const double left = panel.x.pixel_at_low;
  for (const Tick& tick : ticks) {
    const double y = panel.y.pixel(tick.value);
    svg += fmt::format(
        "<line class=\"grid\" x1=\"{}\" x2=\"{}\" y1=\"{:.1f}\" y2=\"{:.1f}\"/>"
        "<text x=\"{}\" y=\"{:.1f}\" text-anchor=\"end\">{}</text>\n",
        left, panel.x.pixel_at_high, y, y, left - 8, y + 4.5, escape_markup(tick.label));
  }
  return svg + fmt::format(
                   "<text class=\"muted\" transform=\"translate({} {:.1f}) rotate(-90)\" "
                   "text-anchor=\"middle\">{}</text>\n",
                   left - 66, (panel.y.pixel_at_low + panel.y.pixel_at_high) / 2,
                   escape_markup(title));
}

std::string draw_x_axis(const Panel& panel, std::span<const Tick> ticks, std::string_view title) {
  std::string svg;
  const double bottom = panel.y.pixel_at_low;
  for (const Tick& tick : ticks) {
    svg += fmt::format("<text x=\"{:.1f}\" y=\"{}\" text-anchor=\"middle\">{}</text>\n",
                       panel.x.pixel(tick.value), bottom + 20, escape_markup(tick.label));
  }
  return svg +
         fmt::format("<text class=\"muted\" x=\"{}\" y=\"{}\" text-anchor=\"middle\">{}</text>\n",
                     (panel.x.pixel_at_low + panel.x.pixel_at_high) / 2, bottom + 42,
                     escape_markup(title));
}

std::string draw_curve(const Panel& panel, std::string_view style, const Points& points) {
  std::string svg = fmt::format("<polyline class=\"line {}\" points=\"", style);
  for (const auto& [x, y] : points) {
    svg += fmt::format("{:.1f},{:.1f} ", panel.x.pixel(x), panel.y.pixel(y));
  }
  return svg + "\"/>\n";
}

std::string draw_marks(const Panel& panel, std::string_view style, const Points& points) {
  std::string svg;
  for (const auto& [x, y] : points) {
    svg += fmt::format("<circle class=\"mark {}\" cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"3.5\"/>\n", style,
                       panel.x.pixel(x), panel.y.pixel(y));
  }
  return svg;
}

std::string draw_bar(const Bar& bar, std::string_view style) {
  return fmt::format(
      "<rect class=\"mark {}\" x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\"/>\n",
      style, bar.left, bar.top, bar.right - bar.left, bar.bottom - bar.top);
}

std::string draw_label(double right, double baseline, std::string_view text) {
  return fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"end\">{}</text>\n", right,
                     baseline, escape_markup(text));
}

std::string draw_text(double left, double baseline, std::string_view text) {
  return fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\">{}</text>\n", left, baseline,
                     escape_markup(text));
}

std::string draw_legend(double left, double top, double width,
                        std::span<const LegendEntry> entries) {
  std::string svg =
      fmt::format("<rect class=\"paper\" x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\"/>\n", left,
                  top - 14, width, 22.0 * static_cast<double>(entries.size()));
  double y = top;
  for (const LegendEntry& entry : entries) {
    if (!entry.style.empty()) {
      svg += fmt::format("<line class=\"line {}\" x1=\"{}\" x2=\"{}\" y1=\"{}\" y2=\"{}\"/>",
                         entry.style, left + 6, left + 40, y - 3, y - 3);
    }
    svg += fmt::format("<text x=\"{}\" y=\"{}\">{}</text>\n", left + (entry.style.empty() ? 6 : 50),
                       y + 1.5, escape_markup(entry.text));
    y += 22;
  }
  return svg;
}

std::string escape_markup(std::string_view text) {
  std::string safe;
  for (const char c : text) {
    switch (c) {
      case '<': safe += "&lt;"; break;
      case '>': safe += "&gt;"; break;
      case '&': safe += "&amp;"; break;
      case '"': safe += "&quot;"; break;
      default: safe += c;
    }
  }
  return safe;
}

}  // namespace infold::desk
