// SPDX-License-Identifier: Apache-2.0
//
// Averages of gradients that travel compressed, made as one call of the group.
#include <limits>
#include <memory>
#include <utility>

#include "python/backend/backend.h"
#include "python/backend/recipes.h"

namespace infold::pytorch {
namespace {

constexpr const char* kName = "compressed average";

// The gradients of one call, in the host's memory and in float32.
struct Parameters {
  std::vector<std::string> names;
  std::vector<std::vector<std::size_t>> sides;
  std::vector<at::Tensor> gradients;

  std::vector<ParameterView> views() const {
    std::vector<ParameterView> all;
    for (std::size_t i = 0; i < names.size(); ++i) {
      const at::Tensor& gradient = gradients[i];
      all.push_back({names[i],
                     {gradient.data_ptr<float>(), static_cast<std::size_t>(gradient.numel())},
                     sides[i]});
    }
    return all;
  }
};

void check(const std::vector<std::string>& names, const Backend::Tensors& gradients) {
  TORCH_CHECK(names.size() == gradients.size(), "infold: ", kName, ": ", names.size(),
              " names for ", gradients.size(), " gradients");
  for (std::size_t i = 0; i < names.size(); ++i) {
    check_tensor(gradients[i], kName);
    TORCH_CHECK(gradients[i].is_floating_point(), "infold: ", kName, ": ", names[i], " is of type ",
                gradients[i].scalar_type(), "; only floats can be compressed");
  }
}

}  // namespace

Backend::Works Backend::average_compressed(const std::shared_ptr<Compressor>& compressor,
                                           std::vector<std::string> names, Tensors& gradients,
                                           std::chrono::milliseconds timeout,
                                           std::chrono::microseconds hidden) {
  check(names, gradients);
  Recipe recipe = {::c10d::OpType::ALLREDUCE, "infold:compressed", gradients, gradients};
  const auto parameters = std::make_shared<Parameters>();
  std::vector<std::function<void()>> waits;
  std::vector<std::function<void()>> returns;
  for (const at::Tensor& gradient : gradients) {
    parameters->sides.emplace_back(gradient.sizes().begin(), gradient.sizes().end());
    const at::Tensor form = network_form(gradient, at::kFloat);
    if (gradient.device().is_cpu()) {
      parameters->gradients.push_back(form);
      returns.push_back([form, gradient] { give_back(form, gradient); });
      continue;
    }
    const auto staging = staging_of(recipe, gradient.device());
    const Staging::Piece piece =
        staging->bring(form, std::numeric_limits<std::int64_t>::max()).front();
    parameters->gradients.push_back(piece.on_host);
    waits.push_back([staging, piece] { staging->wait_for(piece); });
    returns.push_back([staging, piece, form, gradient] {
      staging->give_back(piece.on_host, piece.on_device);
      staging->then([&] { give_back(form, gradient); });
    });
  }
  parameters->names = std::move(names);
  Step step;
  step.before = [waits = std::move(waits)] {
    for (const auto& wait : waits) wait();
  };
  step.calls = [compressor, parameters, hidden, deadline = call_options(timeout).deadline](
                   Communicator& communicator, const std::stop_token& stop) {
    return compressor->average(communicator, parameters->views(),
                               {.deadline = deadline, .stop = stop, .hidden = hidden});
  };
  step.after = [returns = std::move(returns)] {
    for (const auto& give : returns) give();
  };
  recipe.alone = [compressor, parameters, before = step.before, after = step.after] {
    before();
    const Result<void> made = compressor->average_alone(parameters->views());
    if (!made) std::rethrow_exception(exception_of(made.error()));
    after();
  };
  recipe.steps.push_back(std::move(step));
  return submit(std::move(recipe), timeout);
}

}  // namespace infold::pytorch
