// SPDX-License-Identifier: Apache-2.0
//
// One step takes in each parameter's gradient through its memory, makes the legs of all compressors
// together until none is left, and then writes the means. The memories and compressors change only
// at the end, when nothing can fail any more.
#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <utility>

#include <fmt/format.h>
#include <infold/compression.h>

#include "api/compression/choice_check.h"
#include "api/compression/leg_exchange.h"
#include "api/compression/loaded_state.h"
#include "api/compression/parameter.h"
#include "api/compression/parameter_list.h"
#include "api/compression/steered_lists.h"
#include "api/compression/text_hash.h"
#include "api/compression/times_join.h"
#include "compress/choice.h"
#include "compress/steering/kept_share.h"
#include "io/host/clock.h"

namespace infold {
namespace {

tl::unexpected<Error> refuse(std::string message) {
  return tl::unexpected(
      Error{Code::invalid_argument, "compression: " + std::move(message), -1, ""});
}

// Identifies what one call sends, so that ranks with different settings get a mismatch instead of a
// wrong sum. The same holds if one rank has completed a step that failed at another.
std::uint16_t encoding_of(std::uint64_t setting, std::span<Parameter* const> found) {
  std::uint64_t number = setting;
  for (const Parameter* const each : found) number += each->step();
  return static_cast<std::uint16_t>(number % 0xFFFF + 1);
}

// See compress::Leg.
std::size_t usual_bytes_max(std::size_t elements) {
  return (std::size_t{64} << 10) + 16 * elements;
}

// The number of an encoding only stands for a setting and a step, so the user needs an explanation.
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
  compress::CompressionChoice choice;
  std::optional<SteeredLists> steered = {};
  std::map<std::string, Parameter, std::less<>> parameters = {};
  LoadedState loaded = {};
  int rank = -1;  // this rank's number in the last communicator
  int world = 0;
  // Hashes of the lists of parameters on which all ranks have agreed.
  std::set<std::uint64_t> checked = {};
  // Keyed by the list and the setting of a call (LegExchange::Heads).
  std::map<std::pair<std::uint64_t, std::uint64_t>, LegExchange::Heads> heads = {};
  double rate = 0;  // 0: the memory's own rate
  CompressionStatistics statistics = {};

  // The same text as choice() returns.
  std::string text() const;
  Result<void> meet(Communicator& communicator, const ParameterList& list,
                    const AverageOptions& options);
  Result<std::vector<Parameter*>> find(std::span<const ParameterView> views,
                                       const compress::Steerer::Setting& setting);
  Result<Parameter*> make(const ParameterView& view, std::size_t rung);
  Result<void> prepare(Parameter& parameter, const ParameterView& view,
                       const compress::Steerer::Setting& setting) const;
  const compress::CompressionChoice& choice_of(std::size_t rung) const {
    return steered ? steered->steering().choice(rung) : choice;
  }
  std::uint64_t hash_of(const compress::Steerer::Setting& setting) const {
    return hash_of_text(setting.is_plain ? "plain" : choice_of(setting.rung).text());
  }
  Result<void> restore(const std::string& name, Parameter& parameter);
  Result<void> check(const ParameterShape& shape, const Entries& entries, int its_world) const;
  std::vector<compress::Leg> begin(std::span<const ParameterView> views,
                                   std::span<Parameter* const> found) const;
  Result<void> exchange(LegExchange& exchange, std::span<Parameter* const> found,
                        std::vector<compress::Leg> legs);
  std::optional<float> kept_share(std::span<Parameter* const> found) const;
};

std::string Compression::Inside::text() const {
  std::string text = choice.text();
  if (steered) text += ", steering " + steered->steering().text();
  return text;
}

// Makes sure that all ranks mean the same compression and parameters.
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
  std::string steering = "none";
  std::string steering_state = "none";
  if (steered) {
    steering = steered->steering().text();
    steering_state = steered->find(list, static_cast<std::uint32_t>(world)).text();
  }
  auto same = check_choices(communicator,
                            {{"method", choice.method().name},
                             {"settings", choice.settings().text()},
                             {"memory", choice.memory().name},
                             {"memory settings", choice.memory_settings().text()},
                             {"seed", std::to_string(options.seed)},
                             {"parameters", list.text},
                             {"steering", steering},
                             {"steering state", steering_state}},
                            call);
  if (!same) return same;
  checked.insert(list.hash);
  return {};
}

Result<std::vector<Parameter*>> Compression::Inside::find(
    std::span<const ParameterView> views, const compress::Steerer::Setting& setting) {
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
  const compress::Shape shape = shape_of(view);
  const auto refuse_it = [&view](Error error) {
    error.message = fmt::format("compression: {}: {}", view.name, error.message);
    return tl::unexpected(std::move(error));
  };
  if (steered) {
    auto problem = steered->steering().check(shape, static_cast<std::uint32_t>(world));
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

// Only a compressor whose state fits the other settings as well is replaced (compress/steering/
// steering.h).
Result<void> Compression::Inside::prepare(Parameter& parameter, const ParameterView& view,
                                          const compress::Steerer::Setting& setting) const {
  const bool is_there =
      setting.is_plain ? parameter.plain != nullptr : parameter.rung == setting.rung;
  if (!is_there) {
    const auto plain = compress::CompressionChoice::make({});
    if (!plain) return tl::unexpected(plain.error());
    const compress::CompressionChoice& wanted = setting.is_plain ? *plain : choice_of(setting.rung);
    auto made = wanted.make_compressor(shape_of(view), static_cast<std::uint32_t>(world));
    if (!made) return tl::unexpected(made.error());
    if (setting.is_plain) {
      parameter.plain = *std::move(made);
    } else {
      parameter.replace_compressor(*std::move(made), setting.rung);
    }
  }
  parameter.active = setting.is_plain ? parameter.plain.get() : parameter.compressor.get();
  return {};
}

// Restores the parameter from a checkpoint, if a loaded checkpoint contains it.
Result<void> Compression::Inside::restore(const std::string& name, Parameter& parameter) {
  const auto entries = loaded.find(name);
  if (entries == loaded.end()) return {};
  if (auto filled = fill(name, parameter, entries->second); !filled) return filled;
  loaded.erase(entries);
  return {};
}

// Restores a parameter of that shape, only to see whether that is possible.
Result<void> Compression::Inside::check(const ParameterShape& shape, const Entries& entries,
                                        int its_world) const {
  compress::Shape whole{1, shape.sides};
  for (const std::size_t side : shape.sides) whole.elements *= side;
  auto compressor = choice.make_compressor(whole, static_cast<std::uint32_t>(its_world));
  if (!compressor) {
    return refuse(fmt::format("{}: {}", shape.name, compressor.error().message));
  }
  Parameter parameter{.compressor = *std::move(compressor), .memory = choice.make_memory(whole)};
  return fill(shape.name, parameter, entries);
}

std::vector<compress::Leg> Compression::Inside::begin(std::span<const ParameterView> views,
                                                      std::span<Parameter* const> found) const {
  std::vector<compress::Leg> legs;
  for (std::size_t i = 0; i < views.size(); ++i) {
    found[i]->input = found[i]->memory->take_in(views[i].gradient);
    legs.push_back(
        found[i]->active->begin(found[i]->input, {.seed = options.seed,
                                                  .step = found[i]->step(),
                                                  .parameter = hash_of_text(views[i].name),
                                                  .rank = static_cast<std::uint32_t>(rank),
                                                  .world = static_cast<std::uint32_t>(world)}));
  }
  return legs;
}

// Exchanges all legs up to the last. Compressors that are done earlier do not take part any more.
Result<void> Compression::Inside::exchange(LegExchange& exchange, std::span<Parameter* const> found,
                                           std::vector<compress::Leg> legs) {
  std::vector<Parameter*> going(found.begin(), found.end());
  while (!going.empty()) {
    for (std::size_t i = 0; i < going.size(); ++i) {
      if (legs[i].bytes_max == 0) legs[i].bytes_max = usual_bytes_max(going[i]->elements);
    }
    auto answers = exchange.make(legs);
    if (!answers) return tl::unexpected(answers.error());
    std::vector<Parameter*> still;
    legs.clear();
    for (std::size_t i = 0; i < going.size(); ++i) {
      std::optional<compress::Leg> leg = going[i]->active->next((*answers)[i]);
      if (!going[i]->active->is_sound()) {
        return refuse("a rank sent bytes that are not a code of " + choice.method().name);
      }
      if (!leg) continue;
      still.push_back(going[i]);
      legs.push_back(*leg);
    }
    going = std::move(still);
  }
  return {};
}

// Returns the share of the tensors' energy that this rank's codes keep, or nothing if sizes have no
// meaning.
std::optional<float> Compression::Inside::kept_share(std::span<Parameter* const> found) const {
  const compress::Bias bias = choice.method().bias;
  if (bias == compress::Bias::direction) return std::nullopt;
  compress::KeptShare kept;
  std::vector<float> sent;
  for (const Parameter* const each : found) {
    sent.resize(each->elements);
    each->active->write_sent(sent);
    kept.add(each->input, sent);
  }
  // A memory that carries errors on gets an unbiased method's results shrunk, so that none averages
  // out (compress/memories/memory.h).
  return kept.share(bias == compress::Bias::unbiased && !choice.memory().carries_errors);
}

Result<Compression> Compression::create(const CompressionOptions& options) {
  const compress::CompressionRequest request = {options.method, options.settings, options.memory,
                                                options.memory_settings};
  const auto refuse_it = [](Error error) {
    error.message = "compression: " + error.message;
    return tl::unexpected(std::move(error));
  };
  auto choice = compress::CompressionChoice::make(request);
  if (!choice) return refuse_it(choice.error());
  auto inside = std::make_unique<Inside>(Inside{.options = options, .choice = *std::move(choice)});
  if (options.steering) {
    auto steering = compress::Steering::make(*options.steering, request);
    if (!steering) return refuse_it(steering.error());
    inside->steered.emplace(*std::move(steering));
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
  SteeredList* own = nullptr;
  if (inside_->steered) {
    own = &inside_->steered->find(list, static_cast<std::uint32_t>(inside_->world));
  }
  const auto setting = own ? own->steerer.setting() : compress::Steerer::Setting{};
  auto found = inside_->find(parameters, setting);
  if (!found) return tl::unexpected(found.error());
  const base::Instant started = io::monotonic_now();
  const std::uint64_t hash = inside_->hash_of(setting);
  const std::uint16_t encoding = encoding_of(hash, *found);
  if (own) own->note_start(started);
  const std::vector<compress::Leg> legs = inside_->begin(parameters, *found);
  std::optional<TimesJoin> join;
  if (own) {
    join.emplace(communicator, own->last,
                 CallOptions{.deadline = options.deadline, .encoding = encoding});
  }
  LegExchange::Heads& heads = inside_->heads[{list.hash, hash}];
  LegExchange exchange(communicator, encoding, options, heads);
  if (auto made = inside_->exchange(exchange, *found, legs); !made) {
    return tl::unexpected(explained(made.error()));
  }
  std::optional<compress::CallTimes> agreed;
  if (join) {
    auto joined = join->wait(options.stop);
    if (!joined) return tl::unexpected(joined.error());
    agreed = *joined;
  }
  // A user's compressor may throw in the next lines, so they come before anything changes.
  for (Parameter* const each : *found) each->memory->see(*each->active);
  const base::Instant seen = io::monotonic_now();
  std::optional<float> kept;
  if (own && own->steerer.wants_kept()) kept = inside_->kept_share(*found);
  const base::Duration measuring = io::monotonic_now() - seen;
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    Parameter& parameter = *(*found)[i];
    parameter.active->write_mean(parameters[i].gradient);
    parameter.memory->finish(parameters[i].gradient);
    inside_->statistics.fallbacks += parameter.active->fell_back() ? 1 : 0;
    parameter.commit();
    inside_->statistics.bytes_before += parameters[i].gradient.size_bytes();
  }
  heads = exchange.next_heads();
  ++inside_->statistics.calls;
  inside_->statistics.bytes_sent += exchange.bytes_sent();
  inside_->statistics.bytes_received += exchange.bytes_received();
  if (own) {
    const base::Duration whole = io::monotonic_now() - started;
    own->learn(agreed, {.collectives = compress::call_seconds(exchange.time().ns),
                        .codec = compress::call_seconds((whole - exchange.time() - measuring).ns),
                        .hidden = compress::call_seconds(options.hidden.count()),
                        .kept = kept.value_or(compress::CallTimes::kKeptUnknown)});
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
    for (const compress::Kept& kept : parameter.kept()) {
      state.entries.push_back({name, kept.name, *kept.values});
    }
  }
  for (const auto& [name, entries] : inside_->loaded) {
    state.entries.insert(state.entries.end(), entries.begin(), entries.end());
  }
  if (inside_->steered) {
    const auto entries = inside_->steered->state();
    state.entries.insert(state.entries.end(), entries.begin(), entries.end());
  }
  return state;
}

Result<void> Compression::load(const CompressionState& state, int rank, int world,
                               std::span<const ParameterShape> parameters) {
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
  Entries of_parameters;
  Entries steered;
  for (const CompressionState::Entry& entry : state.entries) {
    const bool is_steered = inside_->steered && entry.what == SteeredLists::kStateName;
    (is_steered ? steered : of_parameters).push_back(entry);
  }
  auto loaded = sort_entries(of_parameters);
  if (!loaded) return tl::unexpected(loaded.error());
  for (const ParameterShape& each : parameters) {
    if (auto whole = inside_->check(each, (*loaded)[each.name], world); !whole) return whole;
  }
  inside_->parameters.clear();
  inside_->loaded = *std::move(loaded);
  inside_->checked.clear();
  inside_->heads.clear();
  if (inside_->steered) inside_->steered->clear();
  inside_->rank = rank;
  inside_->world = world;
  for (const CompressionState::Entry& entry : steered) {
    if (!inside_->steered->load(entry)) {
      return refuse(fmt::format("the state's {} {} is none", entry.what, entry.parameter));
    }
  }
  return {};
}

CompressionStatistics Compression::statistics() const { return inside_->statistics; }

std::vector<SteeredCall> Compression::steered_calls() const {
  if (!inside_->steered) return {};
  return inside_->steered->calls();
}

}  // namespace infold
