// SPDX-License-Identifier: Apache-2.0
#include "cli/whatif/whatif_table.h"

#include <algorithm>
#include <map>
#include <vector>

#include <fmt/format.h>

#include "cli/line/quantity.h"

namespace infold::cli {
namespace {

using whatif::Place;
using whatif::Split;

// Smaller differences are treated as none, because the model is not more precise than this.
constexpr double kSame = 0.05;

double ms(double us) { return us / 1000; }

const Answer* find(std::span<const Answer> answers, Place place) {
  const auto found = std::find_if(answers.begin(), answers.end(), [place](const Answer& each) {
    return each.place.setting.place == place;
  });
  return found == answers.end() ? nullptr : &*found;
}

void print_row(Output& output, const std::string& name, const Split& split,
               const std::optional<Spread>& spread) {
  output.text(
      "  {:<12} {:>10.3f} {:>10.3f} {:>10.3f} {:>10.3f}{}\n", name, ms(split.step_us),
      ms(split.compute_us), ms(split.exposed_us), ms(split.waiting_us),
      spread ? fmt::format("   {:.3f} to {:.3f}", ms(spread->least_us), ms(spread->most_us)) : "");
}

std::string racks_text(const whatif::Setting& setting) {
  if (!setting.rack_bits_per_second) return "";
  const double rate = *setting.rack_bits_per_second;
  return rate > 0 ? "racks' links of " + short_rate(rate) + "bit/s" : "racks' links of any rate";
}

}  // namespace

std::string marked_name(const NamedSetting& place) {
  return place.name + (whatif::is_unchecked(place.setting) ? " *" : "");
}

std::string star_note(std::span<const Answer> answers) {
  const bool has_star = std::any_of(answers.begin(), answers.end(), [](const Answer& each) {
    return whatif::is_unchecked(each.place.setting);
  });
  return has_star ? "* not compared with measured steps" : "";
}

Recorded recorded_of(const whatif::RecordedRun& run) {
  const auto steps = whatif::steps_of(run.traces());
  return {run.ranks(), run.traces().size(), steps.front().size(), whatif::split_of(steps)};
}

void print_run(Output& output, const Recorded& run, const WhatIfOptions& options,
               const whatif::Setting& first, std::optional<double> interference) {
  output.text("run of {}, {}{}\n", counted(run.ranks, "rank"), counted(run.steps, "step"),
              run.traces < run.ranks ? "; one trace stands for all ranks" : "");
  std::vector<std::pair<std::string, std::string>> facts = {
      {"ranks", fmt::format("{} ranks", first.ranks)},
      {"link", first.bits_per_second > 0 ? "links of " + short_rate(first.bits_per_second) + "bit/s"
                                         : "links of any rate"},
      {"rack-link", racks_text(first)},
      {"rtt-us", fmt::format("{} us from host to host and back",
                             static_cast<double>(first.round_trip.ns) / 1e3)},
      {"loss", fmt::format("loss {}", first.loss)}};
  std::erase_if(facts, [&](const auto& fact) {
    return fact.first == options.swept() || fact.second.empty();
  });
  std::string text;
  for (const auto& fact : facts) text += (text.empty() ? "" : ", ") + fact.second;
  output.text("predicted for {}\n", text);
  if (interference) {
    output.text("computes take {:.0f} % longer while calls move\n", *interference * 100);
  }
  output.object({{"event", "run"},
                 {"ranks", run.ranks},
                 {"steps", run.steps},
                 {"interference", interference.value_or(0)},
                 {"step_us", run.split.step_us},
                 {"compute_us", run.split.compute_us},
                 {"exposed_us", run.split.exposed_us},
                 {"waiting_us", run.split.waiting_us}});
}

void print_object(Output& output, const Answer& answer) {
  const whatif::Setting& setting = answer.place.setting;
  const Split& split = answer.prediction.split;
  const Spread spread = answer.spread.value_or(Spread{split.step_us, split.step_us});
  output.object({{"event", "prediction"},
                 {"place", answer.place.name},
                 {"ranks", setting.ranks},
                 {"rate", setting.bits_per_second},
                 {"rack_rate", setting.rack_bits_per_second.value_or(setting.bits_per_second)},
                 {"rtt_us", static_cast<double>(setting.round_trip.ns) / 1e3},
                 {"loss", setting.loss},
                 {"slots", setting.slots},
                 {"step_us", split.step_us},
                 {"step_us_least", spread.least_us},
                 {"step_us_most", spread.most_us},
                 {"compute_us", split.compute_us},
                 {"exposed_us", split.exposed_us},
                 {"waiting_us", split.waiting_us},
                 {"unchecked", whatif::is_unchecked(setting)}});
}

void print_places(Output& output, const Recorded& run, std::span<const Answer> answers) {
  const bool has_spread = std::any_of(answers.begin(), answers.end(),
                                      [](const Answer& each) { return each.spread.has_value(); });
  output.text("\n  {:<12} {:>10} {:>10} {:>10} {:>10}{}\n", "sums at", "step ms", "compute",
              "exposed", "waiting", has_spread ? "   step ms, 3 seeds" : "");
  print_row(output, "(recorded)", run.split, {});
  for (const Answer& each : answers) {
    print_row(output, marked_name(each.place), each.prediction.split, each.spread);
  }
  if (const std::string note = star_note(answers); !note.empty()) output.text("  {}\n", note);
  output.text("\n");
  for (const std::string& sentence : advice(answers)) output.text("{}\n", sentence);
}

void print_sweep(Output& output, const std::string& swept, std::span<const Answer> answers) {
  std::vector<std::string> places;
  std::map<std::size_t, std::map<std::string, double>> rows;
  for (const Answer& each : answers) {
    const std::string name = marked_name(each.place);
    rows[each.question][name] = each.prediction.split.step_us;
    const bool is_known = std::find(places.begin(), places.end(), name) != places.end();
    if (!is_known) places.push_back(name);
  }
  output.text("\nstep in ms, with sums at\n  {:<10}", swept);
  for (const std::string& place : places) output.text(" {:>10}", place);
  for (const auto& [question, row] : rows) {
    const auto first = std::find_if(answers.begin(), answers.end(),
                                    [&](const Answer& each) { return each.question == question; });
    output.text("\n  {:<10}", first->value);
    for (const std::string& place : places) {
      const auto found = row.find(place);
      output.text(" {:>10}", found == row.end() ? "-" : fmt::format("{:.3f}", ms(found->second)));
    }
  }
  output.text("\n");
  if (const std::string note = star_note(answers); !note.empty()) output.text("  {}\n", note);
}

std::vector<std::string> advice(std::span<const Answer> answers) {
  const Answer* const ring = find(answers, Place::ring);
  const Answer* const in_path = find(answers, Place::in_path);
  const Answer* const bound = find(answers, Place::nowhere);
  std::vector<std::string> sentences;
  if (ring == nullptr || in_path == nullptr) return sentences;
  if (ring->place.setting.loss > 0) {
    return {"The ring's time has no losses in it. Losses cost TCP more than a switch."};
  }
  const double ratio = ring->prediction.split.step_us / in_path->prediction.split.step_us;
  if (ratio > 1 + kSame) {
    sentences.push_back(
        fmt::format("A switch makes a step {:.2f} times as fast as a ring over TCP does.", ratio));
  } else if (ratio < 1 - kSame) {
    sentences.push_back(fmt::format(
        "A switch does not help: a step takes {:.2f} times as long as with a ring over TCP.",
        1 / ratio));
  } else {
    sentences.push_back("A switch does not change the time of a step by more than 5 %.");
  }
  if (bound == nullptr || bound->prediction.split.step_us == 0) return sentences;
  const double left = ring->prediction.split.step_us / bound->prediction.split.step_us;
  sentences.push_back(
      left > 1 + kSame
          ? fmt::format("No network makes a step more than {:.2f} times as fast as that ring.",
                        left)
          : std::string("Compute hides the communication of the ring already."));
  return sentences;
}

}  // namespace infold::cli
