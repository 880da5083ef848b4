// SPDX-License-Identifier: Apache-2.0
//
// The parts of our pictures: panels with scales, axes with few and round ticks, curves, legends.
// SVG that adapts to light and dark pages. A class named in a call is a curve's style: one of
// kStyle's own, or "series-0" to "series-9". Pure.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace infold::lab {

inline constexpr int kSeriesStyles = 10;

// One direction of a panel: it maps values to pixels, linearly or by decades.
struct Scale {
  double low = 0;  // above 0 if the scale is logarithmic
  double high = 1;
  double pixel_at_low = 0;
  double pixel_at_high = 1;
  bool logarithmic = false;

  double pixel(double value) const;
};

// Makes a scale from 0 to a round number not below `most`.
Scale linear_scale(double most, double pixel_at_low, double pixel_at_high);
// Makes a scale of whole decades around both values. Requires: both are above 0.
Scale decade_scale(double least, double most, double pixel_at_low, double pixel_at_high);

struct Tick {
  double value;
  std::string label;
};
// Ticks: about five for a linear scale, each decade for a logarithmic one. Labels are plain
// numbers.
std::vector<Tick> ticks_of(const Scale& scale);

struct Panel {
  Scale x;
  Scale y;
};

struct Picture {
  double width = 860;
  double height = 560;
  std::string description;  // for readers who cannot see the picture
  std::string title;
  std::string subtitle;
  std::string footer;  // small print at the lower edge
  double left = 88;    // x at which the titles begin
};

// Returns the opening tag, colours and titles. The picture ends with kSvgEnd.
std::string begin_picture(const Picture& picture);
inline constexpr std::string_view kSvgEnd = "</svg>\n";

// Horizontal lines with labels at the left, and the axis' title, upright.
std::string draw_y_axis(const Panel& panel, std::span<const Tick> ticks, std::string_view title);
// Labels below the panel, and the axis' title.
std::string draw_x_axis(const Panel& panel, std::span<const Tick> ticks, std::string_view title);

using Points = std::vector<std::pair<double, double>>;
std::string draw_curve(const Panel& panel, std::string_view style, const Points& points);
// Draws a small disc at each point.
std::string draw_marks(const Panel& panel, std::string_view style, const Points& points);

// In pixels.
struct Bar {
  double left = 0;
  double top = 0;
  double right = 0;
  double bottom = 0;
};
// Fills it with a series' colour.
std::string draw_bar(const Bar& bar, std::string_view style);
// Text that ends at `right`, or begins at `left`.
std::string draw_label(double right, double baseline, std::string_view text);
std::string draw_text(double left, double baseline, std::string_view text);

struct LegendEntry {
  std::string style;  // empty: a remark without a curve
  std::string text;
};
// Draws a legend on a background; `left` and `top` are its corner. It is about `22 * entries` high.
std::string draw_legend(double left, double top, double width,
                        std::span<const LegendEntry> entries);

// Escapes the text, so that no character is markup.
std::string escape_markup(std::string_view text);

}  // namespace infold::lab
