// SPDX-License-Identifier: Apache-2.0
#include "python/backend/recipes.h"

#include <limits>
#include <memory>
#include <utility>

#include "python/backend/staging.h"
#include "python/backend/tensors.h"

namespace infold::pytorch {
namespace {

// Long enough that the cost of a call is small, and short enough that copies overlap with sends.
constexpr std::int64_t kPieceBytes = 4 << 20;

std::function<Handle(Communicator&)> bind(const Call& call, const at::Tensor& input,
                                          const at::Tensor& output) {
  return [call, input, output](Communicator& communicator) {
    return call(communicator, view_of(input), view_of(output));
  };
}

// Where the network writes: the tensor itself if it has the right form, otherwise other memory.
at::Tensor output_form(const at::Tensor& tensor, at::ScalarType type) {
  if (is_plain(tensor) && tensor.scalar_type() == type) return tensor;
  return at::empty(tensor.sizes(),
                   tensor.options().dtype(type).memory_format(at::MemoryFormat::Contiguous));
}

}  // namespace

std::shared_ptr<Staging> staging_of(Recipe& recipe, c10::Device device) {
  if (!recipe.staging) recipe.staging = std::make_shared<Staging>(device);
  TORCH_CHECK(recipe.staging->device() == device, "infold: ", recipe.title, ": one tensor is on ",
              recipe.staging->device(), " and another on ", device, "; a rank has one device");
  return recipe.staging;
}

void add_in_place(Recipe& recipe, const at::Tensor& tensor, const NetworkType& as,
                  const Call& call) {
  const at::Tensor form = network_form(tensor, as.type, as.factor);
  if (tensor.device().is_cpu()) {
    recipe.steps.push_back(
        {{}, bind(call, form, form), [form, tensor] { give_back(form, tensor); }});
    return;
  }
  const auto staging = staging_of(recipe, tensor.device());
  for (const Staging::Piece& piece : staging->bring(form, kPieceBytes)) {
    recipe.steps.push_back(
        {[staging, piece] { staging->wait_for(piece); }, bind(call, piece.on_host, piece.on_host),
         [staging, piece] { staging->give_back(piece.on_host, piece.on_device); }});
  }
  if (form.is_same(tensor)) return;
  Step& last = recipe.steps.back();
  last.after = [after = std::move(last.after), staging, form, tensor] {
    after();
    staging->then([&] { give_back(form, tensor); });
  };
}

void add_apart(Recipe& recipe, const at::Tensor& input, const at::Tensor& output,
               const NetworkType& as, const Call& call) {
  const at::Tensor read = network_form(input, as.type, as.factor);
  const at::Tensor written = output_form(output, as.type);
  if (input.device().is_cpu()) {
    recipe.steps.push_back(
        {{}, bind(call, read, written), [written, output] { give_back(written, output); }});
    return;
  }
  const auto staging = staging_of(recipe, input.device());
  const Staging::Piece piece =
      staging->bring(read, std::numeric_limits<std::int64_t>::max()).front();
  const at::Tensor room = staging->room_for(written);
  recipe.steps.push_back({[staging, piece] { staging->wait_for(piece); },
                          bind(call, piece.on_host, room),
                          [staging, room, written, output] {
                            staging->give_back(room, written);
                            staging->then([&] { give_back(written, output); });
                          }});
}

void then(Recipe& recipe, std::function<void()> action) {
  Step& last = recipe.steps.back();
  last.after = [after = std::move(last.after), staging = recipe.staging,
                action = std::move(action)] {
    after();
    staging ? staging->then(action) : action();
  };
}

}  // namespace infold::pytorch
