// SPDX-License-Identifier: Apache-2.0
//
// The two pictures of a comparison. Each implementation has the same colour in both.

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "cli/bench/compare_report.h"
#include "cli/line/quantity.h"
#include "study/desk/svg.h"

namespace infold::cli {
namespace {

constexpr double kLeft = 88;
constexpr double kRight = 640;
constexpr double kTop = 78;
constexpr double kBottom = 500;
constexpr double kLegendWidth = 212;
// The picture with a bar for each implementation has these.
constexpr double kBarsLeft = 210;
constexpr double kRow = 34;

struct Curve {
  desk::LegendEntry legend;
  desk::Points points;
  bool marks = true;
};

// Curves in the order in which they are drawn and listed.
std::vector<Curve> curves_of(const Comparison& comparison,
                             const std::vector<measure::Summary>& summaries,
                             double (*x)(const measure::Summary&),
                             double (*y)(const measure::Summary&)) {
  std::vector<Curve> curves;
  for (std::size_t i = 0; i < comparison.conditions.implementations.size(); ++i) {
    const std::string& name = comparison.conditions.implementations[i].name;
    Curve curve{{fmt::format("series-{}", i % desk::kSeriesStyles), name}, {}};
    for (const measure::Summary& each : summaries) {
      if (each.impl == name && each.rounds > 0) curve.points.emplace_back(x(each), y(each));
    }
    if (!curve.points.empty()) curves.push_back(curve);
  }
  return curves;
}

// The bounds that the links set: one for a switch that gets 32 bits per element, and one for any
// algorithm that uses hosts alone.
struct Bound {
  const char* implementation;
  const char* style;
  const char* text;
};
constexpr Bound kBounds[] = {
    {"infold-native", "bound", "bound, in the network"},
    {"gloo-ring", "bound-ring", "bound, among hosts"},
};
// Returns the legend for runs in which processors set the time instead of links.
const char* no_bound(const measure::Conditions& conditions) {
  return conditions.one_host ? "no bound: no links" : "no bound: links unshaped";
}

std::pair<double, double> range_of(const std::vector<Curve>& curves) {
  double least = 1e300;
  double most = 0;
  for (const Curve& curve : curves) {
    for (const auto& [x, y] : curve.points) {
      least = std::min(least, y);
      most = std::max(most, y);
    }
  }
  return most > 0 ? std::pair(least, most) : std::pair(1.0, 10.0);
}

std::string draw(const measure::Conditions& conditions, const desk::Panel& panel,
                 const std::vector<Curve>& curves) {
  std::string svg;
  std::vector<desk::LegendEntry> legend;
  for (const Curve& curve : curves) {
    svg += desk::draw_curve(panel, curve.legend.style, curve.points);
    if (curve.marks) svg += desk::draw_marks(panel, curve.legend.style, curve.points);
    legend.push_back(curve.legend);
  }
  if (conditions.bits_per_second <= 0) legend.push_back({"", no_bound(conditions)});
  return svg + desk::draw_legend(kRight + 4, kTop + 14, kLegendWidth, legend);
}

// The texts that a `Picture` borrows.
struct Words {
  std::string title;
  std::string subtitle;
  std::string footer;
};

Words words_of(const Comparison& comparison, std::string title, const std::string& conditions) {
  return {std::move(title),
          fmt::format("{}; medians of {} rounds, each with all implementations in turn", conditions,
                      comparison.conditions.rounds),
          fmt::format("{}, {}", comparison.machine, comparison.started)};
}

std::string begin(const Words& words, double height = 590) {
  desk::Picture picture;
  picture.height = height;
  picture.description = words.title;
  picture.title = words.title;
  picture.subtitle = words.subtitle;
  picture.footer = words.footer;
  return desk::begin_picture(picture);
}

// A single size makes no curve, so each implementation gets a bar, and each bound a line.
std::string draw_time_bars(const measure::Conditions& conditions, const Words& words,
                           const std::vector<Curve>& curves, std::uint64_t world) {
  const double bottom = kTop + kRow * static_cast<double>(curves.size());
  const desk::Panel panel{desk::linear_scale(range_of(curves).second, kBarsLeft, kRight),
                          {0, 1, bottom, kTop}};
  std::string svg;
  double top = kTop + 6;
  for (const Curve& curve : curves) {
    const double ms = curve.points.front().second;
    const double end = panel.x.pixel(ms);
    svg += desk::draw_label(kBarsLeft - 10, top + 16, curve.legend.text) +
           desk::draw_bar({kBarsLeft, top, end, top + kRow - 12}, curve.legend.style) +
           desk::draw_text(end + 6, top + 16, fmt::format("{:.4g} ms", ms));
    top += kRow;
  }
  std::vector<desk::LegendEntry> legend;
  for (const Bound& bound : kBounds) {
    const double ms =
        1e3 * measure::bound_s(conditions, *measure::implementation_of(bound.implementation), world,
                               conditions.bytes.front());
    if (!(ms > 0) || ms > panel.x.high) continue;
    svg += desk::draw_curve(panel, bound.style, {{ms, 0}, {ms, 1}});
    legend.push_back({bound.style, bound.text});
  }
  if (conditions.bits_per_second <= 0) legend.push_back({"", no_bound(conditions)});
  return begin(words, bottom + 120) +
         desk::draw_x_axis(panel, desk::ticks_of(panel.x), "milliseconds") + svg +
         desk::draw_legend(kBarsLeft - 4, bottom + 52, 2 * kLegendWidth, legend) +
         std::string(desk::kSvgEnd);
}

}  // namespace

std::string draw_times(const Comparison& comparison, std::uint64_t world) {
  const measure::Conditions& conditions = comparison.conditions;
  std::vector<measure::Summary> summaries = measure::summarise(conditions, comparison.samples);
  std::erase_if(summaries, [&](const measure::Summary& each) { return each.world != world; });
  std::vector<Curve> curves = curves_of(
      comparison, summaries, [](const measure::Summary& s) { return static_cast<double>(s.bytes); },
      [](const measure::Summary& s) { return s.median_ms; });
  const Words words = words_of(comparison,
                               conditions.bytes.size() == 1
                                   ? fmt::format("Time to sum {} over all ranks",
                                                 measure::size_text(conditions.bytes.front()))
                                   : "Time to sum a tensor over all ranks",
                               fmt::format("{} ranks, {}", world, describe(conditions)));
  if (conditions.bytes.size() == 1) return draw_time_bars(conditions, words, curves, world);
  const auto [least, most] = range_of(curves);
  const auto [bytes_least, bytes_most] =
      std::minmax_element(conditions.bytes.begin(), conditions.bytes.end());
  const desk::Panel panel{desk::decade_scale(static_cast<double>(*bytes_least),
                                             static_cast<double>(*bytes_most), kLeft, kRight),
                          desk::decade_scale(least, most, kBottom, kTop)};
  for (const Bound& bound : kBounds) {
    Curve curve{{bound.style, bound.text}, {}, false};
    for (double bytes = panel.x.low; bytes <= panel.x.high * 1.01; bytes *= 1.2589254) {
      const double ms =
          1e3 * measure::bound_s(conditions, *measure::implementation_of(bound.implementation),
                                 world, static_cast<std::uint64_t>(bytes));
      if (ms >= panel.y.low && ms <= panel.y.high) curve.points.emplace_back(bytes, ms);
    }
    if (!curve.points.empty()) curves.push_back(curve);
  }

  std::vector<desk::Tick> sizes = desk::ticks_of(panel.x);
  for (desk::Tick& tick : sizes) tick.label = short_bytes(static_cast<std::uint64_t>(tick.value));
  return begin(words) + desk::draw_y_axis(panel, desk::ticks_of(panel.y), "milliseconds") +
         desk::draw_x_axis(panel, sizes, "size of the tensor") + draw(conditions, panel, curves) +
         std::string(desk::kSvgEnd);
}

std::string draw_goodput(const Comparison& comparison) {
  const measure::Conditions& conditions = comparison.conditions;
  const std::uint64_t bytes = *std::max_element(conditions.bytes.begin(), conditions.bytes.end());
  std::vector<measure::Summary> summaries = measure::summarise(conditions, comparison.samples);
  std::erase_if(summaries, [&](const measure::Summary& each) { return each.bytes != bytes; });
  std::vector<Curve> curves = curves_of(
      comparison, summaries, [](const measure::Summary& s) { return static_cast<double>(s.world); },
      [](const measure::Summary& s) { return s.goodput_mbps(); });
  const auto [least_world, most_world] =
      std::minmax_element(conditions.worlds.begin(), conditions.worlds.end());
  for (const Bound& bound : kBounds) {
    Curve curve{{bound.style, bound.text}, {}, false};
    for (std::uint64_t world = *least_world; world <= *most_world; ++world) {
      const double seconds = measure::bound_s(
          conditions, *measure::implementation_of(bound.implementation), world, bytes);
      if (seconds > 0) {
        curve.points.emplace_back(world, static_cast<double>(bytes) * 8 / seconds / 1e6);
      }
    }
    if (!curve.points.empty()) curves.push_back(curve);
  }
  const desk::Panel panel{
      {static_cast<double>(*least_world), static_cast<double>(*most_world), kLeft, kRight},
      desk::linear_scale(range_of(curves).second, kBottom, kTop)};
  std::vector<desk::Tick> worlds;
  for (const std::uint64_t world : conditions.worlds) {
    worlds.push_back({static_cast<double>(world), fmt::format("{}", world)});
  }
  const Words words =
      words_of(comparison, fmt::format("Goodput of a tensor of {}", measure::size_text(bytes)),
               describe(conditions));
  return begin(words) + desk::draw_y_axis(panel, desk::ticks_of(panel.y), "Mbit/s of tensor") +
         desk::draw_x_axis(panel, worlds, "ranks") + draw(conditions, panel, curves) +
         std::string(desk::kSvgEnd);
}

}  // namespace infold::cli
