// SPDX-License-Identifier: Apache-2.0
//
// Six models as lists of layers: elements of the gradient, and a GPU's time. Plain data.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

namespace infold::reproduce {

struct Layer {
  std::uint64_t elements = 0;
  double forward_us = 0;
  double backward_us = 0;
  double update_us = 0;
};

// Images a second of eight workers. Ideal: eight times one worker alone.
struct PublishedImages {
  double nccl = 0;
  double switchml = 0;
  double ideal = 0;
};

struct Model {
  const char* name;
  std::span<const Layer> layers;  // from the input to the loss
  std::optional<PublishedImages> published;
};

std::span<const Model> models();

}  // namespace infold::reproduce
