// SPDX-License-Identifier: Apache-2.0
//
// Adds each line's layer to the last model, or begins a new model with it.
#include "study/mix/program/model_list.h"

#include <algorithm>
#include <array>
#include <utility>

#include <fmt/format.h>

namespace infold::mix {
namespace {

constexpr double kMicroseconds = 1e6;

// Returns why this cannot be a model's name, or an empty text. A '#' and a comma cannot come here.
std::string find_fault_of_name(std::string_view name) {
  const bool is_plain = std::all_of(name.begin(), name.end(),
                                    [](char letter) { return letter >= ' ' && letter <= '~'; });
  if (name.empty() || name.size() > kModelNameMax || !is_plain) {
    return fmt::format("model {}: a name must have 1 to {} ASCII characters", quoted(name),
                       kModelNameMax);
  }
  if (find_model(name) != nullptr) {
    return fmt::format("model {}: infold has a model of this name; choose another name",
                       quoted(name));
  }
  return "";
}

// Reads the fields after the name. Returns why it cannot, or an empty text.
std::string read_layer(std::span<const std::string_view> fields, Layer& layer) {
  const auto elements = parse_whole(fields[0], kLayerElementsMax);
  if (!elements) {
    return fmt::format("{} elements: must be 1 to {}", quoted(fields[0]), kLayerElementsMax);
  }
  layer.elements = *elements;
  struct Time {
    const char* work;
    double& us;
  };
  const Time times[] = {
      {"forward", layer.forward_us}, {"backward", layer.backward_us}, {"update", layer.update_us}};
  for (std::size_t i = 0; i < std::size(times); ++i) {
    const std::string_view typed = fields[i + 1];
    const auto us = parse_real(typed, kIterationSecondsMax * kMicroseconds);
    if (!us) {
      return fmt::format("{} takes {}: must be 0 to {:.0f} microseconds", times[i].work,
                         quoted(typed), kIterationSecondsMax * kMicroseconds);
    }
    times[i].us = *us;
  }
  return "";
}

class Reader {
 public:
  // Returns why the line cannot be read, or an empty text.
  std::string add(const TableText& table) {
    std::array<std::string_view, 5> fields;
    std::string fault = table.split(fields, "model, elements, forward us, backward us, update us");
    if (fault.empty()) fault = find_model_of(fields[0]);
    Layer layer;
    if (fault.empty()) fault = read_layer(std::span(fields).subspan(1), layer);
    if (!fault.empty()) return fault;
    OwnModel& model = models_.back();
    if (model.layers.size() == kLayersMax) {
      return fmt::format("model {} has more than {} layers; join some", quoted(model.name),
                         kLayersMax);
    }
    model.layers.push_back(layer);
    iteration_us_ += layer.forward_us + layer.backward_us + layer.update_us;
    if (iteration_us_ > kIterationSecondsMax * kMicroseconds) {
      return fmt::format("an iteration of model {} takes more than {:.0f} seconds",
                         quoted(model.name), kIterationSecondsMax);
    }
    return "";
  }

  std::vector<OwnModel> take() { return std::move(models_); }

 private:
  // Makes the model of this name the last one. Returns why it cannot, or an empty text.
  std::string find_model_of(std::string_view name) {
    const std::vector<Model> views = views_of(models_);
    const Model* const known = find_model(name, views);
    if (known != nullptr && known == &views.back()) return "";
    if (known != nullptr) {
      return fmt::format(
          "model {} has layers above another model; write all its layers together, or choose "
          "another name",
          quoted(name));
    }
    if (models_.size() == kOwnModelsMax) return fmt::format("more than {} models", kOwnModelsMax);
    std::string fault = find_fault_of_name(name);
    if (!fault.empty()) return fault;
    models_.push_back({std::string(name), {}});
    iteration_us_ = 0;
    return "";
  }

  std::vector<OwnModel> models_;
  double iteration_us_ = 0;  // the work of the last model
};

}  // namespace

tl::expected<std::vector<OwnModel>, BadLine> read_models(std::string_view text) {
  TableText table(text);
  Reader reader;
  while (table.next()) {
    const std::string fault = reader.add(table);
    if (!fault.empty()) return tl::unexpected(table.bad(fault));
  }
  std::vector<OwnModel> models = reader.take();
  if (models.empty()) {
    return tl::unexpected(BadLine{
        0,
        "the file has no model; write a line for each layer, such as: mine, 1000000, 250, 500, "
        "20"});
  }
  return models;
}

std::vector<Model> views_of(std::span<const OwnModel> own) {
  std::vector<Model> views;
  for (const OwnModel& each : own) views.push_back({each.name.c_str(), each.layers});
  return views;
}

}  // namespace infold::mix
