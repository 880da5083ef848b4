// SPDX-License-Identifier: Apache-2.0
//
// Reads any text as a list of models. Checks the limits of what is accepted, and that a list of
// jobs which names each of the models comes back from its text.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/check.h"
#include "study/mix/jobs/job_list.h"
#include "study/mix/program/model_list.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace infold;
  const auto own = mix::read_models({reinterpret_cast<const char*>(data), size});
  if (!own) {
    CHECK(!own.error().reason.empty());
    return 0;
  }
  CHECK(!own->empty());
  CHECK_THAT(own->size(), <=, mix::kOwnModelsMax);
  std::vector<mix::JobSpec> jobs;
  const std::vector<mix::Model> models = mix::views_of(*own);
  for (const mix::Model& model : models) {
    CHECK(mix::find_model(model.name) == nullptr);
    CHECK(mix::find_model(model.name, models) == &model);
    CHECK(!model.layers.empty());
    CHECK_THAT(model.layers.size(), <=, mix::kLayersMax);
    double us = 0;
    for (const mix::Layer& layer : model.layers) {
      CHECK_THAT(layer.elements, >=, 1U);
      CHECK_THAT(layer.elements, <=, mix::kLayerElementsMax);
      CHECK(layer.forward_us >= 0 && layer.backward_us >= 0 && layer.update_us >= 0);
      us += layer.forward_us + layer.backward_us + layer.update_us;
    }
    CHECK(us <= mix::kIterationSecondsMax * 1e6);
    jobs.push_back({.model = &model});
  }
  const auto again = mix::read_jobs(mix::write_jobs(jobs), models);
  CHECK(again && *again == jobs);
  return 0;
}
