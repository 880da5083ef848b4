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

#include "api/compression/choice_check.h"
#include "api/compression/leg_exchange.h"
#include "api/compression/text_hash.h"
#include "codec/compress/choice.h"

namespace infold {
namespace {

// A float holds whole numbers up to 2^24, so the count of steps is kept in two.
constexpr std::uint64_t kStepDigit = std::uint64_t{1} << 24;
constexpr const char* kStepName = "step";

tl::unexpected<Error> refuse(std::string message) {
  return tl::unexpected(
      Error{Code::invalid_argument, "compression: " + std::move(message), -1, ""});
}

// What is kept of one parameter.
struct Parameter {
  std::unique_ptr<codec::Compressor> compressor;
  std::unique_ptr<codec::Memory> memory;
  std::size_t elements = 0;
  std::vector<float> steps = {0, 0};  // the digits, the lower first

  std::uint64_t step() const {
    return static_cast<std::uint64_t>(steps[0]) + static_cast<std::uint64_t>(steps[1]) * kStepDigit;
  }
  void commit() {
    compressor->commit();
    memory->commit();
    const std::uint64_t next = step() + 1;
    steps = {static_cast<float>(next % kStepDigit), static_cast<float>(next / kStepDigit)};
  }
  std::vector<codec::Kept> kept() {
    std::vector<codec::Kept> all = {{kStepName, &steps}};
    for (const codec::Kept& each : memory->kept()) all.push_back(each);
    for (const codec::Kept& each : compressor->kept()) all.push_back(each);
    return all;
  }
};

std::string text_of(std::span<const ParameterView> parameters) {
  std::string text = fmt::format("{} parameters", parameters.size());
  for (const ParameterView& each : parameters) {
    text += fmt::format(", {} of {}", each.name, each.gradient.size());
    for (const std::size_t side : each.sides) text += fmt::format("x{}", side);
  }
  return text;
}

std::optional<Error> problem_of(std::span<const ParameterView> parameters) {
  std::vector<std::string_view> names;
  for (const ParameterView& each : parameters) {
    names.push_back(each.name);
    if (each.sides.empty()) continue;
    std::size_t elements = 1;
    for (const std::size_t side : each.sides) elements *= side;
    if (elements != each.gradient.size()) {
      return refuse(fmt::format("the sides of {} have {} elements, its gradient {}", each.name,
                                elements, each.gradient.size()))
          .value();
    }
  }
  std::sort(names.begin(), names.end());
  const auto twice = std::adjacent_find(names.begin(), names.end());
  if (twice == names.end()) return std::nullopt;
  return refuse(fmt::format("the parameter {} is passed twice", *twice)).value();
}

}  // namespace

struct Compression::Inside {
  CompressionOptions options;
  codec::CompressionChoice choice;
  std::map<std::string, Parameter, std::less<>> parameters = {};
  std::map<std::string, std::vector<CompressionState::Entry>, std::less<>> loaded = {};
  int rank = -1;  // of the last communicator
  int world = 0;
  // Hashes of the lists of parameters that all ranks have passed alike.
  std::set<std::uint64_t> checked = {};
  double rate = 0;  // 0: the memory's own
  CompressionStatistics statistics = {};

  Result<void> meet(Communicator& communicator, std::span<const ParameterView> views,
                    const AverageOptions& options);
  Result<std::vector<Parameter*>> find(std::span<const ParameterView> views);
  Result<Parameter*> make(const ParameterView& view);
  Result<void> restore(const std::string& name, Parameter& parameter);
  std::vector<codec::Leg> begin(std::span<const ParameterView> views,
                                std::span<Parameter* const> found) const;
  Result<void> exchange(LegExchange& exchange, std::span<Parameter* const> found,
                        std::vector<codec::Leg> legs);
};

// Makes sure that all ranks talk of the same.
Result<void> Compression::Inside::meet(Communicator& communicator,
                                       std::span<const ParameterView> views,
                                       const AverageOptions& call) {
  if (communicator.world() == 0) return refuse("the communicator belongs to no job");
  if (auto problem = problem_of(views)) return tl::unexpected(*std::move(problem));
  const bool is_another = world != communicator.world() || rank != communicator.rank();
  if (is_another && world != 0) {
    return refuse(fmt::format(
        "it remembers gradients of rank {} of {}, and the communicator is rank {} of {}", rank,
        world, communicator.rank(), communicator.world()));
  }
  const std::string text = text_of(views);
  const std::uint64_t hash = hash_of_text(text);
  if (!is_another && checked.contains(hash)) return {};
  rank = communicator.rank();
  world = communicator.world();
  auto same = check_choices(communicator,
                            {{"method", choice.method().name},
                             {"settings", choice.settings().text()},
                             {"memory", choice.memory().name},
                             {"memory settings", choice.memory_settings().text()},
                             {"seed", std::to_string(options.seed)},
                             {"parameters", text}},
                            call);
  if (!same) return same;
  checked.insert(hash);
  return {};
}

Result<std::vector<Parameter*>> Compression::Inside::find(std::span<const ParameterView> views) {
  std::vector<Parameter*> found;
  for (const ParameterView& view : views) {
    const auto known = parameters.find(view.name);
    if (known == parameters.end()) {
      auto made = make(view);
      if (!made) return tl::unexpected(made.error());
      found.push_back(*made);
      continue;
    }
    if (known->second.elements != view.gradient.size()) {
      return refuse(fmt::format("the gradient of {} has {} elements, and had {} before", view.name,
                                view.gradient.size(), known->second.elements));
    }
    found.push_back(&known->second);
  }
  return found;
}

Result<Parameter*> Compression::Inside::make(const ParameterView& view) {
  const codec::Shape shape{view.gradient.size(), {view.sides.begin(), view.sides.end()}};
  auto compressor = choice.make_compressor(shape, static_cast<std::uint32_t>(world));
  if (!compressor) {
    Error error = compressor.error();
    error.message = fmt::format("compression: {}: {}", view.name, error.message);
    return tl::unexpected(std::move(error));
  }
  Parameter parameter{*std::move(compressor), choice.make_memory(shape), view.gradient.size()};
  if (rate > 0) parameter.memory->set_rate(rate);
  const std::string name(view.name);
  if (auto restored = restore(name, parameter); !restored) {
    return tl::unexpected(restored.error());
  }
  return &parameters.insert_or_assign(name, std::move(parameter)).first->second;
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
    legs.push_back(found[i]->compressor->begin(found[i]->memory->take_in(views[i].gradient),
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
      std::optional<codec::Leg> leg = going[i]->compressor->next((*answers)[i]);
      if (!going[i]->compressor->is_sound()) {
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
  auto choice = codec::CompressionChoice::make(
      {options.method, options.settings, options.memory, options.memory_settings});
  if (!choice) {
    Error error = choice.error();
    error.message = "compression: " + error.message;
    return tl::unexpected(std::move(error));
  }
  return Compression(
      std::make_unique<Inside>(Inside{.options = options, .choice = *std::move(choice)}));
}

Compression::Compression(std::unique_ptr<Inside> inside) : inside_(std::move(inside)) {}
Compression::Compression(Compression&& other) noexcept = default;
Compression& Compression::operator=(Compression&& other) noexcept = default;
Compression::~Compression() = default;

Result<void> Compression::average(Communicator& communicator,
                                  std::span<const ParameterView> parameters,
                                  const AverageOptions& options) {
  if (auto same = inside_->meet(communicator, parameters, options); !same) return same;
  auto found = inside_->find(parameters);
  if (!found) return tl::unexpected(found.error());
  const auto encoding =
      static_cast<std::uint16_t>(hash_of_text(inside_->choice.text()) % 0xFFFF + 1);
  LegExchange exchange(communicator, encoding, options);
  auto made = inside_->exchange(exchange, *found, inside_->begin(parameters, *found));
  if (!made) return made;
  // A compressor of a user may throw here, so this comes before anything changes.
  for (Parameter* const each : *found) each->memory->see(*each->compressor);
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    Parameter& parameter = *(*found)[i];
    parameter.compressor->write_mean(parameters[i].gradient);
    parameter.memory->finish(parameters[i].gradient);
    parameter.commit();
    inside_->statistics.bytes_before += parameters[i].gradient.size_bytes();
  }
  ++inside_->statistics.calls;
  inside_->statistics.bytes_sent += exchange.bytes_sent();
  inside_->statistics.bytes_received += exchange.bytes_received();
  return {};
}

void Compression::set_rate(double rate) {
  inside_->rate = rate;
  for (auto& [name, parameter] : inside_->parameters) parameter.memory->set_rate(rate);
}

std::string Compression::choice() const { return inside_->choice.text(); }

CompressionState Compression::state() const {
  CompressionState state{.rank = inside_->rank,
                         .world = inside_->world,
                         .choice = inside_->choice.text(),
                         .entries = {}};
  for (auto& [name, parameter] : inside_->parameters) {
    for (const codec::Kept& kept : parameter.kept()) {
      state.entries.push_back({name, kept.name, *kept.values});
    }
  }
  for (const auto& [name, entries] : inside_->loaded) {
    state.entries.insert(state.entries.end(), entries.begin(), entries.end());
  }
  return state;
}

Result<void> Compression::load(const CompressionState& state, int rank, int world) {
  if (state.choice != inside_->choice.text()) {
    return refuse(fmt::format("the state is of {}, this compression is {}", state.choice,
                              inside_->choice.text()));
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
  inside_->rank = rank;
  inside_->world = world;
  for (const CompressionState::Entry& entry : state.entries) {
    const bool counts = entry.what == kStepName;
    const auto is_digit = [](float value) {
      return value >= 0 && value < static_cast<float>(kStepDigit) && value == std::floor(value);
    };
    if (counts && !std::all_of(entry.values.begin(), entry.values.end(), is_digit)) {
      return refuse(fmt::format("the state's count of steps of {} is no number", entry.parameter));
    }
    inside_->loaded[entry.parameter].push_back(entry);
  }
  return {};
}

CompressionStatistics Compression::statistics() const { return inside_->statistics; }

}  // namespace infold
