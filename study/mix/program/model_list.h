// SPDX-License-Identifier: Apache-2.0
//
// A user's own models as text. Each line has one layer: the name of its model, the elements of its
// gradient, and the microseconds that one GPU takes for forward, backward and update. The layers of
// a model follow each other, from the input to the loss.
//
//   # model, elements, forward us, backward us, update us
//   two-layers, 1000000, 250, 500, 20
//   two-layers, 4000000, 100.5, 200, 80
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <tl/expected.hpp>

#include "study/mix/program/layers.h"
#include "study/mix/program/table_text.h"

namespace infold::mix {

struct OwnModel {
  std::string name;
  std::vector<Layer> layers;
};

// Messages list the names of all models, so their number and their length are small.
inline constexpr std::size_t kOwnModelsMax = 64;
inline constexpr std::size_t kModelNameMax = 32;
inline constexpr std::size_t kLayersMax = 1'000;
inline constexpr std::uint32_t kLayerElementsMax = 4'000'000'000;
// The work of one iteration. Even 1,000 jobs with 10,000 iterations each, one after another and
// with the largest jitter, then end within the 292 years that a clock of nanoseconds can count.
inline constexpr double kIterationSecondsMax = 100;

// A name is refused if it is also one of models(), in upper or lower case.
tl::expected<std::vector<OwnModel>, BadLine> read_models(std::string_view text);

// Returns views, which are valid as long as `own` is not changed.
std::vector<Model> views_of(std::span<const OwnModel> own);

}  // namespace infold::mix
