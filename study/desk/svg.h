// SPDX-License-Identifier: Apache-2.0
//
// The parts of our pictures: panels with scales, axes with a few round ticks, curves, legends. The
// result is an SVG that adapts to light and dark pages. A style that a call names is a class: one
// from kStyle, or "series-0" to "series-9". Pure.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace infold::desk {

inline constexpr int kSeriesStyles = 10;

// One direction of a panel. It maps values to pixels, linearly or logarithmically.
struct Scale {
  double low = 0;  // above 0 if the scale is logarithmic
  double high = 1;
  double pixel_at_low = 0;
  double pixel_at_high = 1;
  bool logarithmic = false;

  double pixel(double value) const;
};

// Makes a scale from 0 to a round number that is not below `most`.
Scale linear_scale(double most, double pixel_at_low, double pixel_at_high);
// Makes a scale of whole decades that contains both values. Requires: both are above 0.
Scale decade_scale(double least, double most, double pixel_at_low, double pixel_at_high);

struct Tick {
  double value;
  std::string label;
};
// Returns about five ticks for a linear scale, and one per decade for a logarithmic one. Labels are
// plain numbers.
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
  double left = 88;    // the x at which the titles begin
};

// Returns the opening tag, colours and titles. Append kSvgEnd to end the picture.
std::string begin_picture(const Picture& picture);
inline constexpr std::string_view kSvgEnd = "</svg>\n";

// Draws horizontal lines with labels at the left, and the axis title, rotated.
std::string draw_y_axis(const Panel& panel, std::span<const Tick> ticks, std::string_view title);
// Draws labels below the panel, and the axis title.
std::string draw_x_axis(const Panel& panel, std::span<const Tick> ticks, std::string_view title);

using Points = std::vector<std::pair<double, double>>;
std::string draw_curve(const Panel& panel, std::string_view style, const Points& points);
// Draws a small disc at each point.
std::string draw_marks(const Panel& panel, std::string_view style, const Points& points);

// A rectangle, in pixels.
struct Bar {
  double left = 0;
  double top = 0;
  double right = 0;
  double bottom = 0;
};
// Fills the rectangle with the colour of a series.
std::string draw_bar(const Bar& bar, std::string_view style);
// These draw text that ends at `right`, or begins at `left`.
std::string draw_label(double right, double baseline, std::string_view text);
std::string draw_text(double left, double baseline, std::string_view text);

struct LegendEntry {
  std::string style;  // empty: a remark without a curve
  std::string text;
};
// Draws a legend on a background, with its upper left corner at `left` and `top`. It is about `22 *
// entries` high.
std::string draw_legend(double left, double top, double width,
                        std::span<const LegendEntry> entries);

// Escapes the text, so that nothing in it acts as markup.
std::string escape_markup(std::string_view text);

}  // namespace infold::desk
