// SPDX-License-Identifier: Apache-2.0
//
// Prints columns and notes. Figures with the same reason share a note.
#include "cli/reproduce/report_table.h"

#include <algorithm>
#include <cmath>
#include <vector>

namespace infold::cli {
namespace {

using reproduce::Figure;

// Prints four digits, because no published plot can be read more precisely.
std::string number(double value) {
  if (value == 0) return "0";
  if (value >= 1000) return fmt::format("{:.0f}", value);
  return fmt::format("{:.4g}", value);
}

std::string difference_text(const Figure& figure) {
  const std::optional<double> difference = reproduce::difference(figure);
  if (!difference) return "-";
  const double percent = 100 * *difference;
  return std::abs(percent) < 0.05 ? "0.0 %" : fmt::format("{:+.1f} %", percent);
}

std::size_t note_of(std::vector<std::string>& notes, const std::string& why) {
  const auto found = std::find(notes.begin(), notes.end(), why);
  if (found != notes.end()) return static_cast<std::size_t>(found - notes.begin()) + 1;
  notes.push_back(why);
  return notes.size();
}

void print_table(Output& output, const reproduce::Report& report) {
  std::size_t width = 6;
  std::size_t unit_width = 4;
  for (const Figure& figure : report.figures) {
    width = std::max(width, figure.name.size());
    unit_width = std::max(unit_width, figure.unit.size());
  }
  output.text("\n{:<{}}  {:<{}}  {:>9}  {:<9}  {:>9}  {:>10}  note\n", "figure", width, "unit",
              unit_width, "theirs", "basis", "ours", "difference");
  std::vector<std::string> notes;
  for (const Figure& figure : report.figures) {
    const bool has_theirs = figure.basis != reproduce::Basis::none;
    output.text("{:<{}}  {:<{}}  {:>9}  {:<9}  {:>9}  {:>10}{}\n", figure.name, width, figure.unit,
                unit_width, has_theirs ? number(figure.theirs) : "-",
                has_theirs ? basis_name(figure.basis) : "-", number(figure.ours),
                difference_text(figure),
                figure.why.empty() ? "" : fmt::format("  {}", note_of(notes, figure.why)));
  }
  output.text("\n");
  for (std::size_t i = 0; i < notes.size(); ++i) output.text("note {}: {}\n", i + 1, notes[i]);
}

nlohmann::ordered_json to_json(const char* name, const Figure& figure) {
  nlohmann::ordered_json json;
  json["reproduction"] = name;
  json["figure"] = figure.name;
  json["unit"] = figure.unit;
  const bool has_theirs = figure.basis != reproduce::Basis::none;
  json["theirs"] = has_theirs ? nlohmann::ordered_json(figure.theirs) : nullptr;
  json["basis"] = basis_name(figure.basis);
  json["ours"] = figure.ours;
  const std::optional<double> difference = reproduce::difference(figure);
  json["difference"] = difference ? nlohmann::ordered_json(*difference) : nullptr;
  json["why"] = figure.why;
  return json;
}

}  // namespace

void print_report(Output& output, const reproduce::Reproduction& reproduction,
                  const reproduce::Report& report) {
  output.text("{}: {}\n", reproduction.name, reproduction.summary);
  for (const std::string& sentence : report.setting) output.text("  {}\n", sentence);
  print_table(output, report);
  for (const Figure& figure : report.figures) output.object(to_json(reproduction.name, figure));
  for (const reproduce::Target& target : report.targets) {
    output.text("{}: {}\n", target.is_met ? "met" : "MISSED", target.text);
    output.object(
        {{"reproduction", reproduction.name}, {"target", target.text}, {"met", target.is_met}});
  }
  for (const std::string& wrong : report.wrong) output.log("WRONG: {}\n", wrong);
}

}  // namespace infold::cli
