// SPDX-License-Identifier: Apache-2.0
//
// From tensors to the steps of a recipe: contiguous memory of the host in a type that the network
// sums, and the way back. A tensor that is that already is read and written in place.
#pragma once

#include <functional>
#include <memory>
#include <optional>

#include <ATen/ATen.h>
#include <infold/communicator.h>

#include "python/backend/staging.h"
#include "python/backend/work.h"

namespace infold::pytorch {

using Call = std::function<Handle(Communicator&, TensorView input, MutableTensorView output)>;

struct NetworkType {
  at::ScalarType type;
  std::optional<at::Tensor> factor = {};  // to multiply the input with
};

// The recipe's, which is made with its first tensor on a device; all of them are on one.
std::shared_ptr<Staging> staging_of(Recipe& recipe, c10::Device device);

// Appends the steps of a call whose output takes its input's place.
void add_in_place(Recipe& recipe, const at::Tensor& tensor, const NetworkType& as,
                  const Call& call);
// The same for two tensors.
void add_apart(Recipe& recipe, const at::Tensor& input, const at::Tensor& output,
               const NetworkType& as, const Call& call);

// Follows the steps that there are so far, on the device if they have one.
void then(Recipe& recipe, std::function<void()> action);

}  // namespace infold::pytorch
