// SPDX-License-Identifier: Apache-2.0
//
// The parts that our pictures are drawn from: panels with scales, axes with few and round ticks,
// curves, legends. SVG that adapts to light and dark pages. A class named in a call is a curve's
// style: one of kStyle's own, or "series-0" to "series-9". Pure.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace infold::lab {

inline constexpr int kSeriesStyles = 10;

// One direction of a panel: values to pixels, linear or by decades.
struct Scale {
  double low = 0;  // above 0 where it is logarithmic
  double high = 1;
  double pixel_at_low = 0;
  double pixel_at_high = 1;
  bool logarithmic = false;

  double pixel(double value) const;
};

// A scale from 0 to a round number that `most` fits below.
Scale linear_scale(double most, double pixel_at_low, double pixel_at_high);
// Whole decades around both values, which are above 0.
Scale decade_scale(double least, double most, double pixel_at_low, double pixel_at_high);

struct Tick {
  double value;
  std::string label;
};
// About five of a linear scale, each decade of a logarithmic one; labelled as plain numbers.
std::vector<Tick> ticks_of(const Scale& scale);

struct Panel {
  Scale x;
  Scale y;
};

struct Picture {
  double width = 860;
  double height = 560;
  std::string_view description;  // for those who cannot see it
  std::string_view title;
  std::string_view subtitle;
  std::string_view footer;  // small print at the lower edge
  double left = 88;         // where the titles begin
};

// The opening tag, colours and titles; end with kSvgEnd.
std::string begin_picture(const Picture& picture);
inline constexpr std::string_view kSvgEnd = "</svg>\n";

// Horizontal lines with labels at the left, and what they measure, upright.
std::string draw_y_axis(const Panel& panel, std::span<const Tick> ticks, std::string_view title);
// Labels below the panel, and what they measure.
std::string draw_x_axis(const Panel& panel, std::span<const Tick> ticks, std::string_view title);

using Points = std::vector<std::pair<double, double>>;
std::string draw_curve(const Panel& panel, std::string_view style, const Points& points);
// A small disc at each point.
std::string draw_marks(const Panel& panel, std::string_view style, const Points& points);

struct LegendEntry {
  std::string style;  // empty: a remark without a curve
  std::string text;
};
// On paper of its own; `left` and `top` are its corner. About `22 * entries` high.
std::string draw_legend(double left, double top, double width,
                        std::span<const LegendEntry> entries);

// Text in which no character is markup.
std::string escape_markup(std::string_view text);

}  // namespace infold::lab
