// SPDX-License-Identifier: Apache-2.0
//
// Turns tensors into the steps of a recipe: contiguous memory of the host in a type that the
// network sums, and the copies back. A tensor that already has this form is read and written in
// place.
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
  std::optional<at::Tensor> factor = {};  // multiplies the input
};

// The recipe's Staging. The first tensor on a device creates it; all tensors must be on one device.
std::shared_ptr<Staging> staging_of(Recipe& recipe, c10::Device device);

// Appends the steps of a call whose output replaces its input.
void add_in_place(Recipe& recipe, const at::Tensor& tensor, const NetworkType& as,
                  const Call& call);
// The same for an output that is separate from the input.
void add_apart(Recipe& recipe, const at::Tensor& input, const at::Tensor& output,
               const NetworkType& as, const Call& call);

// Runs the action after the last step so far, on the device's stream if there is a device.
void then(Recipe& recipe, std::function<void()> action);

}  // namespace infold::pytorch
