// SPDX-License-Identifier: Apache-2.0
#include "cli/whatif/whatif_picture.h"

#include <algorithm>
#include <charconv>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "cli/line/quantity.h"
#include "study/desk/svg.h"

namespace infold::cli {
namespace {

using whatif::Doing;
using whatif::Step;

constexpr double kLeft = 120;
constexpr double kRight = 820;
constexpr double kTop = 100;
constexpr double kRow = 13;
constexpr double kBarHeight = 10;
constexpr double kGap = 16;  // between places
constexpr std::size_t kRowsMax = 8;
// The area in which the curves of a sweep are drawn.
constexpr double kPlotLeft = 88;
constexpr double kPlotRight = 650;
constexpr double kPlotTop = 78;
constexpr double kPlotBottom = 440;

std::string footer_of(std::span<const Answer> answers) {
  const std::string note = star_note(answers);
  return "predicted from a recorded run (infold whatif)" + (note.empty() ? "" : "; " + note);
}

const char* style_of(Doing doing) {
  switch (doing) {
    case Doing::computes: return "series-0";
    case Doing::communicates: return "series-3";
    default: return "series-8";
  }
}

// Returns, for each rank, the step whose duration is the median at rank 0.
std::vector<const Step*> typical_step(const whatif::Prediction& prediction) {
  std::vector<const Step*> by_length;
  for (const Step& each : prediction.steps.front()) by_length.push_back(&each);
  std::sort(by_length.begin(), by_length.end(),
            [](const Step* a, const Step* b) { return a->us() < b->us(); });
  std::vector<const Step*> ranks;
  if (by_length.empty()) return ranks;
  const std::uint64_t number = by_length[by_length.size() / 2]->number;
  for (const auto& steps : prediction.steps) {
    for (const Step& each : steps) {
      if (each.number == number && ranks.size() < kRowsMax) ranks.push_back(&each);
    }
  }
  return ranks;
}

std::uint64_t begin_of(const std::vector<const Step*>& ranks) {
  std::uint64_t begin = ranks.front()->from_us();
  for (const Step* each : ranks) begin = std::min(begin, each->from_us());
  return begin;
}

double length_ms(const std::vector<const Step*>& ranks) {
  std::uint64_t end = 0;
  for (const Step* each : ranks) end = std::max(end, each->to_us());
  return static_cast<double>(end - begin_of(ranks)) / 1000;
}

std::string draw_rows(const desk::Scale& x, double top, const std::vector<const Step*>& ranks) {
  const std::uint64_t begin = begin_of(ranks);
  std::string svg;
  for (const Step* each : ranks) {
    for (const whatif::Segment& segment : each->segments) {
      const auto pixel = [&](std::uint64_t us) {
        return x.pixel(static_cast<double>(us - begin) / 1000);
      };
      svg += desk::draw_bar({pixel(segment.from_us), top, pixel(segment.to_us), top + kBarHeight},
                            style_of(segment.doing));
    }
    top += kRow;
  }
  return svg;
}

std::string links_of(const whatif::Setting& setting) {
  if (setting.bits_per_second == 0) return "links without a limit";
  return "links of " + short_rate(setting.bits_per_second) + "bit/s";
}

// Describes what does not change in a sweep.
std::string unswept_text(const std::string& swept, const whatif::Setting& setting) {
  std::string text;
  if (swept != "ranks") text = fmt::format("{} ranks", setting.ranks);
  if (swept == "link") return text;
  return text + (text.empty() ? "" : ", ") + links_of(setting);
}

bool is_rate(const std::string& swept) { return swept == "link" || swept == "rack-link"; }

// Returns the title of the axis of the swept values.
std::string axis_of(const std::string& swept) {
  if (swept == "link") return "the rate of each link";
  return swept == "rack-link" ? "the rate of each rack's link" : swept;
}

// Returns the position on an axis of a rate or a number.
double number_of(const std::string& swept, const std::string& value) {
  if (is_rate(swept)) return parse_rate(value).value_or(0);
  double number = 0;
  std::from_chars(value.data(), value.data() + value.size(), number);
  return number;
}

// The time of a step in milliseconds against the swept value.
struct Curves {
  std::vector<std::pair<std::string, desk::Points>> by_place;
  double least = 1e300;
  double most = 0;
  double x_least = 1e300;
  double x_most = 0;
};

Curves curves_of(const std::string& swept, std::span<const Answer> answers) {
  Curves curves;
  auto& by_place = curves.by_place;
  for (const Answer& each : answers) {
    const double x = number_of(swept, each.value);
    if (is_rate(swept) && x == 0) continue;  // a rate without a limit has no place on the axis
    const double step_ms = each.prediction.split.step_us / 1000;
    const std::string name = marked_name(each.place);
    auto curve = std::find_if(by_place.begin(), by_place.end(),
                              [&](const auto& known) { return known.first == name; });
    if (curve == by_place.end()) curve = by_place.insert(by_place.end(), {name, {}});
    curve->second.emplace_back(x, step_ms);
    curves.least = std::min(curves.least, std::max(step_ms, 1e-3));
    curves.most = std::max(curves.most, step_ms);
    curves.x_least = std::min(curves.x_least, x);
    curves.x_most = std::max(curves.x_most, x);
  }
  for (auto& [name, points] : by_place) std::sort(points.begin(), points.end());
  return curves;
}

desk::Panel panel_of(const Curves& curves, bool decades) {
  if (!decades) {
    return {desk::linear_scale(curves.x_most, kPlotLeft, kPlotRight),
            desk::linear_scale(curves.most, kPlotBottom, kPlotTop)};
  }
  return {
      desk::decade_scale(curves.x_least, curves.x_most, kPlotLeft, kPlotRight),
      desk::decade_scale(curves.least, std::max(curves.most, curves.least), kPlotBottom, kPlotTop)};
}

}  // namespace

std::string draw_steps(std::span<const Answer> answers) {
  std::vector<std::pair<std::string, std::vector<const Step*>>> panels;
  double most = 0;
  double height = kTop;
  for (const Answer& each : answers) {
    auto ranks = typical_step(each.prediction);
    if (ranks.empty()) continue;
    most = std::max(most, length_ms(ranks));
    height += kRow * static_cast<double>(ranks.size()) + kGap;
    panels.emplace_back(marked_name(each.place), std::move(ranks));
  }
  const whatif::Setting& setting = answers.front().place.setting;
  const std::string subtitle =
      fmt::format("{} ranks, {}; a row for each rank{}", setting.ranks, links_of(setting),
                  setting.ranks > kRowsMax ? ", the first ones" : "");
  desk::Picture picture;
  picture.height = height + 80;
  picture.description = "Time lines of a training step for each place of sums";
  picture.title = "A training step, by the place of its sums";
  picture.subtitle = subtitle;
  picture.footer = footer_of(answers);
  picture.left = 24;
  std::string svg = desk::begin_picture(picture);
  const desk::Scale x = desk::linear_scale(most, kLeft, kRight);
  const desk::Panel panel{x, {0, 1, height - kGap, kTop}};
  double top = kTop;
  for (const auto& [name, ranks] : panels) {
    const double middle = top + kRow * static_cast<double>(ranks.size()) / 2;
    svg += desk::draw_label(kLeft - 10, middle + 4, name) + draw_rows(x, top, ranks);
    top += kRow * static_cast<double>(ranks.size()) + kGap;
  }
  svg += desk::draw_x_axis(panel, desk::ticks_of(x), "milliseconds");
  const std::vector<std::pair<Doing, const char*>> legend = {
      {Doing::computes, "computes"},
      {Doing::communicates, "communicates, with no compute"},
      {Doing::waits, "waits for other ranks"}};
  double left = kLeft;
  for (const auto& [doing, text] : legend) {
    svg += desk::draw_bar({left, 74, left + 14, 84}, style_of(doing));
    svg += desk::draw_text(left + 20, 84, text);
    left += 60 + 6.6 * static_cast<double>(std::string_view(text).size());
  }
  return svg + std::string(desk::kSvgEnd);
}

std::string draw_sweep(const std::string& swept, std::span<const Answer> answers) {
  const Curves curves = curves_of(swept, answers);
  const bool decades = is_rate(swept) && curves.x_most > curves.x_least;
  const desk::Panel panel = panel_of(curves, decades);
  std::vector<desk::Tick> ticks = desk::ticks_of(panel.x);
  if (decades) {
    for (desk::Tick& tick : ticks) tick.label = short_rate(tick.value);
  }
  desk::Picture picture;
  picture.height = 520;
  picture.title = fmt::format("Time of a training step against {}", axis_of(swept));
  picture.description = picture.title;
  picture.subtitle = unswept_text(swept, answers.front().place.setting);
  picture.footer = footer_of(answers);
  std::string svg = desk::begin_picture(picture) +
                    desk::draw_y_axis(panel, desk::ticks_of(panel.y), "milliseconds") +
                    desk::draw_x_axis(panel, ticks, axis_of(swept));
  std::vector<desk::LegendEntry> legend;
  for (const auto& [name, points] : curves.by_place) {
    const std::string style = fmt::format("series-{}", legend.size() % desk::kSeriesStyles);
    svg += desk::draw_curve(panel, style, points) + desk::draw_marks(panel, style, points);
    legend.push_back({style, name});
  }
  return svg + desk::draw_legend(kPlotRight + 4, kPlotTop + 14, 180, legend) +
         std::string(desk::kSvgEnd);
}

}  // namespace infold::cli
