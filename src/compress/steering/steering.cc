// SPDX-License-Identifier: Apache-2.0
#include "compress/steering/steering.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <utility>

#include <fmt/format.h>

namespace infold::compress {
namespace {

constexpr double kToleranceMin = 0.01;
constexpr double kToleranceMax = 1;
constexpr int kFloatBits = 32;
const Shape kProbe{4096, {64, 64}};

Error refusal(std::string detail) {
  return Error{Code::invalid_argument, "steering: " + std::move(detail), -1, ""};
}

// Rounds to four digits, so that a last bit of std::pow() cannot make a different setting at
// another rank.
double rounded(double value, bool is_whole) {
  if (is_whole) return std::round(value);
  return std::strtod(fmt::format("{:.4g}", value).c_str(), nullptr);
}

// Returns values from the cheapest to the finest, without repeats. They have equal quotients, or
// equal steps if a limit is not positive.
std::vector<double> values_between(double cheapest, double finest, bool is_whole) {
  const std::size_t steps = Steering::kRungsMax - 1;
  std::vector<double> values = {cheapest};
  for (std::size_t i = 1; i < steps; ++i) {
    const double part = static_cast<double>(i) / static_cast<double>(steps);
    const bool has_quotient = cheapest > 0 && finest > 0;
    const double value = has_quotient ? cheapest * std::pow(finest / cheapest, part)
                                      : cheapest + (finest - cheapest) * part;
    values.push_back(std::clamp(rounded(value, is_whole), std::min(cheapest, finest),
                                std::max(cheapest, finest)));
  }
  values.push_back(finest);
  values.erase(std::unique(values.begin(), values.end()), values.end());
  return values;
}

std::optional<double> given_value(const Setting& setting, const CompressionRequest& request) {
  for (const auto& [name, value] : request.settings) {
    if (name == setting.name) return value;
  }
  return std::nullopt;
}

bool forbids_changes(const CompressionChoice& choice) {
  if (choice.method().kept_fits_all_settings) return false;
  return !choice.method().make(kProbe, choice.settings())->kept().empty();
}

}  // namespace

Result<Steering> Steering::make(const SteeringOptions& options, const CompressionRequest& request) {
  const auto choice = CompressionChoice::make(request);
  if (!choice) return tl::unexpected(choice.error());
  Steering steering;
  steering.options_ = options;
  const double tolerance = options.tolerance;
  if (!(tolerance >= kToleranceMin && tolerance <= kToleranceMax)) {
    return tl::unexpected(refusal(fmt::format("tolerance is {}; the limits are {} to {}", tolerance,
                                              kToleranceMin, kToleranceMax)));
  }
  if (options.setting.empty() && !options.may_skip) {
    return tl::unexpected(refusal("it changes nothing; name a setting, or set may_skip"));
  }
  if (options.may_skip) {
    if (auto problem = steering.check_skip(*choice)) return tl::unexpected(*std::move(problem));
  }
  if (options.setting.empty()) {
    if (options.cheapest != 0 || options.finest != 0) {
      return tl::unexpected(refusal("it has limits, and no setting for them"));
    }
    steering.choices_ = {*choice};
    return steering;
  }
  if (auto problem = steering.find_values(request)) return tl::unexpected(*std::move(problem));
  return steering;
}

std::optional<Error> Steering::check_skip(const CompressionChoice& choice) const {
  const std::string& method = choice.method().name;
  if (method == "none") return refusal("none has nothing to skip");
  if (choice.method().bias == Bias::direction) {
    return refusal(
        fmt::format("{} gives directions, and plain calls give sizes; may_skip would "
                    "change the learning rate",
                    method));
  }
  if (choice.memory().name == "dgc") {
    return refusal("with may_skip, the memory dgc would lose its momentum at each plain call");
  }
  return std::nullopt;
}

std::optional<Error> Steering::find_values(const CompressionRequest& request) {
  const std::string& name = options_.setting;
  const Method& method = *find_method(request.method);
  const auto setting = std::find_if(method.settings.begin(), method.settings.end(),
                                    [&](const Setting& each) { return each.name == name; });
  if (setting != method.settings.end() && options_.cheapest == 0 && options_.finest == 0) {
    auto problem = take_usual_limits(method, *setting, request);
    if (problem) return problem;
  }
  // The error of Settings::make() names the known settings.
  for (const double limit : {options_.cheapest, options_.finest}) {
    auto known = Settings::make(method.settings, {{name, limit}}, method.name);
    if (!known) return refusal(known.error().message);
  }
  if (options_.cheapest == options_.finest) {
    return refusal(fmt::format("cheapest and finest are {} both", options_.cheapest));
  }
  values_ = values_between(options_.cheapest, options_.finest, setting->is_whole);
  const std::optional<double> given = given_value(*setting, request);
  const auto [least, most] = std::minmax(options_.cheapest, options_.finest);
  if (given && (*given < least || *given > most)) {
    return refusal(fmt::format("{} begins at {}; the limits of steering are {} to {}", name, *given,
                               options_.cheapest, options_.finest));
  }
  const double first = given.value_or(setting->usual);
  const auto nearest = std::min_element(values_.begin(), values_.end(), [&](double a, double b) {
    return std::abs(a - first) < std::abs(b - first);
  });
  start_ = static_cast<std::size_t>(nearest - values_.begin());
  for (const double value : values_) {
    CompressionRequest changed = request;
    std::erase_if(changed.settings, [&](const auto& each) { return each.first == name; });
    changed.settings.emplace_back(name, value);
    auto choice = CompressionChoice::make(changed);
    if (!choice) return choice.error();
    if (forbids_changes(*choice)) {
      return refusal(
          fmt::format("{} carries numbers from step to step, which another {} would "
                      "not fit; it can only skip",
                      method.name, name));
    }
    choices_.push_back(*std::move(choice));
  }
  return std::nullopt;
}

// The cheapest value is the one that the method would have without steering, because people choose
// it for its accuracy. The finest one sends at most what plain floats send.
std::optional<Error> Steering::take_usual_limits(const Method& method, const Setting& setting,
                                                 const CompressionRequest& request) {
  const double first = given_value(setting, request).value_or(setting.usual);
  const auto bits_with = [&](double value) {
    const auto settings = Settings::make(method.settings, {{setting.name, value}}, method.name);
    return settings ? method.formula_bits(kProbe, *settings, 2) : 0;
  };
  const auto plain_bits = static_cast<double>(kFloatBits * kProbe.elements);
  options_.cheapest = first;
  if (method.formula_bits) {
    const bool grows = bits_with(setting.most) > bits_with(setting.least);
    std::vector<double> values =
        values_between(first, grows ? setting.most : setting.least, setting.is_whole);
    std::erase_if(values, [&](double value) { return !(bits_with(value) <= plain_bits); });
    if (!values.empty()) options_.finest = values.back();
  }
  if (!(options_.finest != 0 && options_.finest != first)) {
    return refusal(fmt::format("{} of {} has no usual limits; give cheapest and finest",
                               setting.name, method.name));
  }
  return std::nullopt;
}

std::optional<Error> Steering::check(const Shape& shape, std::uint32_t world) const {
  for (const CompressionChoice& choice : choices_) {
    if (!choice.method().check) continue;
    auto problem = choice.method().check(shape, choice.settings(), world);
    if (!problem) continue;
    problem->message = "steering: " + problem->message;
    return problem;
  }
  return std::nullopt;
}

// If there is no formula, the setting or its inverse serves as a guess, which measurements correct.
double Steering::size(std::size_t rung, const Shape& shape, std::uint32_t world) const {
  const Method& method = choices_[rung].method();
  if (method.formula_bits) return method.formula_bits(shape, choices_[rung].settings(), world);
  const auto elements = static_cast<double>(shape.elements);
  const double value = std::abs(values_[rung]);
  if (value == 0) return elements;
  return options_.cheapest < options_.finest ? elements * value : elements / value;
}

// Returns the bits that a plain call sends. Without a formula, the finest value counts as if it
// sent everything.
double Steering::plain_size(const Shape& shape, std::uint32_t world) const {
  if (choices_.front().method().formula_bits)
    return kFloatBits * static_cast<double>(shape.elements);
  return size(choices_.size() - 1, shape, world);
}

Steerer Steering::make_steerer(std::span<const Shape> shapes, std::uint32_t world) const {
  std::vector<double> sizes;
  for (std::size_t rung = 0; rung < choices_.size(); ++rung) {
    double all = 0;
    for (const Shape& shape : shapes) all += size(rung, shape, world);
    // Keep sizes above zero and never falling, whatever the formula of a user's method says.
    const double least = sizes.empty() ? 1 : sizes.back();
    sizes.push_back(std::isfinite(all) ? std::max(all, least) : least);
  }
  double plain = 0;
  for (const Shape& shape : shapes) plain += plain_size(shape, world);
  return Steerer({.sizes = std::move(sizes),
                  .plain_size = std::max(plain, 1.0),
                  .start = start_,
                  .may_skip = options_.may_skip,
                  .tolerance = options_.tolerance});
}

std::string Steering::text() const {
  std::string text;
  if (!options_.setting.empty()) {
    text = fmt::format("{} {} to {}, ", options_.setting, options_.cheapest, options_.finest);
  }
  if (options_.may_skip) text += "may skip, ";
  return text + fmt::format("tolerance {}", options_.tolerance);
}

}  // namespace infold::compress
