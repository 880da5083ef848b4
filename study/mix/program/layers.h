// SPDX-License-Identifier: Apache-2.0
//
// Models as lists of layers: elements of the gradient, and a GPU's time. Plain data. Six models
// are built in; model_list.h reads others from a text.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace infold::mix {

struct Layer {
  std::uint64_t elements = 0;
  double forward_us = 0;
  double backward_us = 0;
  double update_us = 0;
};

struct Model {
  const char* name;
  std::span<const Layer> layers;  // from the input to the loss
};

// The six models that are built in.
std::span<const Model> models();
// Returns null if there is no such name. Upper and lower case mean the same.
const Model* find_model(std::string_view name, std::span<const Model> among = models());
// Returns the number of elements in all layers.
std::uint64_t elements_of(const Model& model);

}  // namespace infold::mix
