// SPDX-License-Identifier: Apache-2.0
//
// One step: each parameter's memory, then the legs of all compressors together until none is left,
// then the means. What is remembered changes at the end, where nothing can fail any more.
#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <set>
#include <utility>

#include <fmt/format.h>
#include <infold/compression.h>

#include "api/compression/call_controls.h"
#include "api/compression/choice_check.h"
#include "api/compression/leg_exchange.h"
#include "api/compression/parameter.h"
#include "api/compression/parameter_list.h"
#include "api/compression/text_hash.h"
#include "api/compression/times_join.h"
#include "codec/compress/choice.h"
#include "io/host/clock.h"

namespace infold {
namespace {

tl::unexpected<Error> refuse(std::string message) {
  return tl::unexpected(
      Error{Code::invalid_argument, "compression: " + std::move(message), -1, ""});
}

float seconds_of(std::int64_t ns) {
  return std::clamp(static_cast<float>(ns) * 1e-9F, 0.0F, codec::kCallSecondsMax);
}

// Of what one call sends. So ranks whose settings differ get a mismatch, and no wrong sum. So do
// ranks one of which has made a step that failed at another.
std::uint16_t encoding_of(std::uint64_t setting, std::span<Parameter* const> found) {
  std::uint64_t number = setting;
  for (const Parameter* const each : found) number += each->step();
  return static_cast<std::uint16_t>(number % 0xFFFF + 1);
}

// A number that only stands for a setting and a step explains nothing.
Error explained(Error error) {
  if (error.code == Code::mismatch && error.message.find("encoding") != std::string::npos) {
    error.message =
        "compression: ranks are not at the same step, or their settings differ: " + error.message;
  }
  return error;
}

}  // namespace

struct Compression::Inside {
  CompressionOptions options;
  codec::CompressionChoice choice;
  std::optional<CallControls> controls = {};
  std::map<std::string, Parameter, std::less<>> parameters = {};
  std::map<std::string, std::vector<CompressionState::Entry>, std::less<>> loaded = {};
  int rank = -1;  // of the last communicator
  int world = 0;
  // Hashes of the lists of parameters that all ranks have passed alike.
  std::set<std::uint64_t> checked = {};
  // By the list and the setting of a call (LegExchange::Heads).
  std::map<std::pair<std::uint64_t, std::uint64_t>, LegExchange::Heads> heads = {};
  double rate = 0;  // 0: the memory's own
  CompressionStatistics statistics = {};

  // As choice() gives it.
  std::string text() const;
  Result<void> meet(Communicator& communicator, const ParameterList& list,
                    const AverageOptions& options);
  Result<std::vector<Parameter*>> find(std::span<const ParameterView> views,
                                       const codec::Controller::Setting& setting);
  Result<Parameter*> make(const ParameterView& view, std::size_t rung);
  Result<void> prepare(Parameter& parameter, const ParameterView& view,
                       const codec::Controller::Setting& setting) const;
  const codec::CompressionChoice& choice_of(std::size_t rung) const {
    return controls ? controls->steering().choice(rung) : choice;
  }
  std::uint64_t hash_of(const codec::Controller::Setting& setting) const {
    return hash_of_text(setting.is_plain ? "plain" : choice_of(setting.rung).text());
  }
  Result<void> restore(const std::string& name, Parameter& parameter);
  std::vector<codec::Leg> begin(std::span<const ParameterView> views,
                                std::span<Parameter* const> found) const;
  Result<void> exchange(LegExchange& exchange, std::span<Parameter* const> found,
                        std::vector<codec::Leg> legs);
};

std::string Compression::Inside::text() const {
  std::string text = choice.text();
  if (controls) text += ", control " + controls->steering().text();
  return text;
}

// Makes sure that all ranks talk of the same.
Result<void> Compression::Inside::meet(Communicator& communicator, const ParameterList& list,
                                       const AverageOptions& call) {
  if (communicator.world() == 0) return refuse("the communicator belongs to no job");
  if (auto problem = list.problem()) return tl::unexpected(*std::move(problem));
  if (call.hidden.count() < 0) return refuse("hidden is a time below zero");
  const bool is_another = world != communicator.world() || rank != communicator.rank();
  if (is_another && world != 0) {
    return refuse(fmt::format(
        "it remembers gradients of rank {} of {}, and the communicator is rank {} of {}", rank,
        world, communicator.rank(), communicator.world()));
  }
  if (!is_another && checked.contains(list.hash)) return {};
  rank = communicator.rank();
  world = communicator.world();
  std::string control = "none";
  std::string control_state = "none";
  if (controls) {
    control = controls->steering().text();
    control_state = controls->find(list, static_cast<std::uint32_t>(world)).text();
  }
  auto same = check_choices(communicator,
                            {{"method", choice.method().name},
                             {"settings", choice.settings().text()},
                             {"memory", choice.memory().name},
                             {"memory settings", choice.memory_settings().text()},
                             {"seed", std::to_string(options.seed)},
                             {"parameters", list.text},
                             {"control", control},
                             {"control state", control_state}},
                            call);
  if (!same) return same;
  checked.insert(list.hash);
  return {};
}

Result<std::vector<Parameter*>> Compression::Inside::find(
    std::span<const ParameterView> views, const codec::Controller::Setting& setting) {
  std::vector<Parameter*> found;
  for (const ParameterView& view : views) {
    const auto known = parameters.find(view.name);
    if (known == parameters.end()) {
      auto made = make(view, setting.rung);
      if (!made) return tl::unexpected(made.error());
      found.push_back(*made);
    } else if (known->second.elements != view.gradient.size()) {
      return refuse(fmt::format("the gradient of {} has {} elements, and had {} before", view.name,
                                view.gradient.size(), known->second.elements));
    } else {
      found.push_back(&known->second);
    }
    if (auto ready = prepare(*found.back(), view, setting); !ready) {
      return tl::unexpected(ready.error());
    }
  }
  return found;
}

Result<Parameter*> Compression::Inside::make(const ParameterView& view, std::size_t rung) {
  const codec::Shape shape = shape_of(view);
  const auto refuse_it = [&view](Error error) {
    error.message = fmt::format("compression: {}: {}", view.name, error.message);
    return tl::unexpected(std::move(error));
  };
  if (controls) {
    auto problem = controls->steering().check(shape, static_cast<std::uint32_t>(world));
    if (problem) return refuse_it(*std::move(problem));
  }
  auto compressor = choice_of(rung).make_compressor(shape, static_cast<std::uint32_t>(world));
  if (!compressor) return refuse_it(compressor.error());
  Parameter parameter{.compressor = *std::move(compressor),
                      .memory = choice.make_memory(shape),
                      .elements = view.gradient.size(),
                      .rung = rung};
  if (rate > 0) parameter.memory->set_rate(rate);
  const std::string name(view.name);
  if (auto restored = restore(name, parameter); !restored) {
    return tl::unexpected(restored.error());
  }
  return &parameters.insert_or_assign(name, std::move(parameter)).first->second;
}

// Only a compressor that remembers nothing is made anew (codec/control/steering.h).
Result<void> Compression::Inside::prepare(Parameter& parameter, const ParameterView& view,
                                          const codec::Controller::Setting& setting) const {
  const bool is_there =
      setting.is_plain ? parameter.plain != nullptr : parameter.rung == setting.rung;
  if (!is_there) {
    const auto plain = codec::CompressionChoice::make({});
    if (!plain) return tl::unexpected(plain.error());
    const codec::CompressionChoice& wanted = setting.is_plain ? *plain : choice_of(setting.rung);
    auto made = wanted.make_compressor(shape_of(view), static_cast<std::uint32_t>(world));
    if (!made) return tl::unexpected(made.error());
    (setting.is_plain ? parameter.plain : parameter.compressor) = *std::move(made);
    if (!setting.is_plain) parameter.rung = setting.rung;
  }
  parameter.active = setting.is_plain ? parameter.plain.get() : parameter.compressor.get();
  return {};
}

// From a checkpoint, if one was loaded that has this parameter.
Result<void> Compression::Inside::restore(const std::string& name, Parameter& parameter) {
  const auto entries = loaded.find(name);
  if (entries == loaded.end()) return {};
  for (const codec::Kept& kept : parameter.kept()) {
    const auto entry =
        std::find_if(entries->second.begin(), entries->second.end(),
                     [&](const CompressionState::Entry& each) { return each.what == kept.name; });
    if (entry == entries->second.end()) {
      return refuse(fmt::format("the state has no {} of {}", kept.name, name));
    }
    if (!kept.is_of_any_size && entry->values.size() != kept.values->size()) {
      return refuse(fmt::format("the state's {} of {} has {} elements, the model's {}", kept.name,
                                name, entry->values.size(), kept.values->size()));
    }
    *kept.values = entry->values;
  }
  loaded.erase(entries);
  return {};
}

std::vector<codec::Leg> Compression::Inside::begin(std::span<const ParameterView> views,
                                                   std::span<Parameter* const> found) const {
  std::vector<codec::Leg> legs;
  for (std::size_t i = 0; i < views.size(); ++i) {
    legs.push_back(found[i]->active->begin(found[i]->memory->take_in(views[i].gradient),
                                           {.seed = options.seed,
                                            .step = found[i]->step(),
                                            .parameter = hash_of_text(views[i].name),
                                            .rank = static_cast<std::uint32_t>(rank),
                                            .world = static_cast<std::uint32_t>(world)}));
  }
  return legs;
}

// All legs up to the last. Compressors that are done earlier sit the rest out.
Result<void> Compression::Inside::exchange(LegExchange& exchange, std::span<Parameter* const> found,
                                           std::vector<codec::Leg> legs) {
  std::vector<Parameter*> going(found.begin(), found.end());
  while (!going.empty()) {
    auto answers = exchange.make(legs);
    if (!answers) return tl::unexpected(answers.error());
    std::vector<Parameter*> still;
    legs.clear();
    for (std::size_t i = 0; i < going.size(); ++i) {
      std::optional<codec::Leg> leg = going[i]->active->next((*answers)[i]);
      if (!going[i]->active->is_sound()) {
        return refuse("a rank sent bytes that are no code of " + choice.method().name);
      }
      if (!leg) continue;
      still.push_back(going[i]);
      legs.push_back(*leg);
    }
    going = std::move(still);
  }
  return {};
}

Result<Compression> Compression::create(const CompressionOptions& options) {
  const codec::CompressionRequest request = {options.method, options.settings, options.memory,
                                             options.memory_settings};
  const auto refuse_it = [](Error error) {
    error.message = "compression: " + error.message;
    return tl::unexpected(std::move(error));
  };
  auto choice = codec::CompressionChoice::make(request);
  if (!choice) return refuse_it(choice.error());
  auto inside = std::make_unique<Inside>(Inside{.options = options, .choice = *std::move(choice)});
  if (options.control) {
    auto steering = codec::Steering::make(*options.control, request);
    if (!steering) return refuse_it(steering.error());
    inside->controls.emplace(*std::move(steering));
  }
  return Compression(std::move(inside));
}

Compression::Compression(std::unique_ptr<Inside> inside) : inside_(std::move(inside)) {}
Compression::Compression(Compression&& other) noexcept = default;
Compression& Compression::operator=(Compression&& other) noexcept = default;
Compression::~Compression() = default;

Result<void> Compression::average(Communicator& communicator,
                                  std::span<const ParameterView> parameters,
                                  const AverageOptions& options) {
  const ParameterList list(parameters);
  if (auto same = inside_->meet(communicator, list, options); !same) return same;
  CallControl* control = nullptr;
  if (inside_->controls) {
    control = &inside_->controls->find(list, static_cast<std::uint32_t>(inside_->world));
  }
  const auto setting = control ? control->controller.setting() : codec::Controller::Setting{};
  auto found = inside_->find(parameters, setting);
  if (!found) return tl::unexpected(found.error());
  const base::Instant started = io::monotonic_now();
  const std::uint64_t hash = inside_->hash_of(setting);
  const std::uint16_t encoding = encoding_of(hash, *found);
  const std::vector<codec::Leg> legs = inside_->begin(parameters, *found);
  std::optional<TimesJoin> join;
  if (control) {
    join.emplace(communicator, control->last,
                 CallOptions{.deadline = options.deadline, .encoding = encoding});
  }
  LegExchange::Heads& heads = inside_->heads[{list.hash, hash}];
  LegExchange exchange(communicator, encoding, options, heads);
  if (auto made = inside_->exchange(exchange, *found, legs); !made) {
    return tl::unexpected(explained(made.error()));
  }
  std::optional<codec::CallTimes> agreed;
  if (join) {
    auto joined = join->wait(options.stop);
    if (!joined) return tl::unexpected(joined.error());
    agreed = *joined;
  }
  // A compressor of a user may throw here, so this comes before anything changes.
  for (Parameter* const each : *found) each->memory->see(*each->active);
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    Parameter& parameter = *(*found)[i];
    parameter.active->write_mean(parameters[i].gradient);
    parameter.memory->finish(parameters[i].gradient);
    parameter.commit();
    inside_->statistics.bytes_before += parameters[i].gradient.size_bytes();
  }
  heads = exchange.next_heads();
  ++inside_->statistics.calls;
  inside_->statistics.bytes_sent += exchange.bytes_sent();
  inside_->statistics.bytes_received += exchange.bytes_received();
  if (control) {
    const base::Duration whole = io::monotonic_now() - started;
    control->learn(agreed, {.collectives = seconds_of(exchange.time().ns),
                            .codec = seconds_of((whole - exchange.time()).ns),
                            .hidden = seconds_of(options.hidden.count())});
  }
  return {};
}

void Compression::set_rate(double rate) {
  inside_->rate = rate;
  for (auto& [name, parameter] : inside_->parameters) parameter.memory->set_rate(rate);
}

std::string Compression::choice() const { return inside_->text(); }

CompressionState Compression::state() const {
  CompressionState state{
      .rank = inside_->rank, .world = inside_->world, .choice = inside_->text(), .entries = {}};
  for (auto& [name, parameter] : inside_->parameters) {
    for (const codec::Kept& kept : parameter.kept()) {
      state.entries.push_back({name, kept.name, *kept.values});
    }
  }
  for (const auto& [name, entries] : inside_->loaded) {
    state.entries.insert(state.entries.end(), entries.begin(), entries.end());
  }
  if (inside_->controls) {
    const auto entries = inside_->controls->state();
    state.entries.insert(state.entries.end(), entries.begin(), entries.end());
  }
  return state;
}

Result<void> Compression::load(const CompressionState& state, int rank, int world) {
  if (state.choice != inside_->text()) {
    return refuse(
        fmt::format("the state is of {}, this compression is {}", state.choice, inside_->text()));
  }
  if (state.rank != rank || state.world != world) {
    return refuse(
        fmt::format("the state is of rank {} of {}, and this is rank {} of {}; begin "
                    "without a state when the world changes",
                    state.rank, state.world, rank, world));
  }
  inside_->parameters.clear();
  inside_->loaded.clear();
  inside_->checked.clear();
  inside_->heads.clear();
  if (inside_->controls) inside_->controls->clear();
  inside_->rank = rank;
  inside_->world = world;
  for (const CompressionState::Entry& entry : state.entries) {
    if (inside_->controls && entry.what == CallControls::kStateName) {
      if (inside_->controls->load(entry)) continue;
      return refuse(fmt::format("the state's {} {} is none", entry.what, entry.parameter));
    }
    const bool counts = entry.what == Parameter::kStepName;
    const auto is_digit = [](float value) {
      return value >= 0 && value < static_cast<float>(Parameter::kStepDigit) &&
             value == std::floor(value);
    };
    if (counts && !std::all_of(entry.values.begin(), entry.values.end(), is_digit)) {
      return refuse(fmt::format("the state's count of steps of {} is no number", entry.parameter));
    }
    inside_->loaded[entry.parameter].push_back(entry);
  }
  return {};
}

CompressionStatistics Compression::statistics() const { return inside_->statistics; }

std::vector<ControlledCall> Compression::controlled_calls() const {
  if (!inside_->controls) return {};
  return inside_->controls->calls();
}

}  // namespace infold
