// SPDX-License-Identifier: Apache-2.0
//
// Collectives with several tensors at each rank. Each tensor counts as if it came from a rank of
// its own.
#include <utility>

#include <torch/csrc/distributed/c10d/Utils.hpp>

#include "python/backend/backend.h"
#include "python/backend/delegate/host_copies.h"
#include "python/backend/recipes.h"
#include "python/backend/tensors.h"

namespace infold::pytorch {

using ::c10d::OpType;

namespace {

// The delegate adds bools as numbers, so that a sum may be 2. MAX and MIN give the right bools.
::c10d::AllreduceOptions options_for(const ::c10d::AllreduceOptions& options, at::ScalarType type) {
  ::c10d::AllreduceOptions changed = options;
  if (type != at::kBool) return changed;
  if (options.reduceOp == ::c10d::ReduceOp::SUM) changed.reduceOp = ::c10d::ReduceOp::MAX;
  if (options.reduceOp == ::c10d::ReduceOp::PRODUCT) changed.reduceOp = ::c10d::ReduceOp::MIN;
  return changed;
}

}  // namespace

// Each tensor becomes the sum of all tensors of all ranks.
Backend::Works Backend::allreduce_list(Tensors& tensors, const ::c10d::AllreduceOptions& options) {
  constexpr const char* kName = "all_reduce";
  ::c10d::assertNonEmpty(refusal_of(kName), tensors);
  check_tensor(tensors.front(), kName);
  check_alike(tensors, tensors.front(), kName);
  const at::ScalarType type = tensors.front().scalar_type();
  check_reduction(options.reduceOp, type, kName);
  TORCH_CHECK(!at::isComplexType(type) && options.reduceOp != ::c10d::ReduceOp::PREMUL_SUM,
              "infold: ", kName,
              ": a list of several tensors cannot be complex, nor be reduced by "
              "PREMUL_SUM; pass one tensor");
  HostCopies copies(Use::reduce);
  return delegated(
      copies, CallFingerprint(OpType::ALLREDUCE, tensors).reduces_by(options.reduceOp),
      [delegate = delegate_, host = copies.written(tensors),
       options = options_for(options, type)]() mutable {
        return delegate->allreduce(host, options);
      },
      options.timeout);
}

// Each tensor becomes the root tensor of the root rank.
Backend::Works Backend::broadcast_list(Tensors& tensors, const ::c10d::BroadcastOptions& options) {
  check_alike(tensors, tensors.front(), "broadcast");
  HostCopies copies(Use::move);
  return delegated(
      copies, CallFingerprint(OpType::BROADCAST, tensors).has_root(options.rootRank),
      [delegate = delegate_, host = copies.written(tensors), options]() mutable {
        return delegate->broadcast(host, options);
      },
      options.timeout);
}

// Each output list receives all tensors of rank 0, then all of rank 1, and so on.
Backend::Works Backend::allgather_list(const std::vector<Tensors>& outputs, const Tensors& inputs,
                                       const ::c10d::AllgatherOptions& options) {
  constexpr const char* kName = "all_gather";
  check_tensor(inputs.front(), kName);
  check_alike(inputs, inputs.front(), kName);
  Recipe recipe = {OpType::ALLGATHER, "infold:all_gather", inputs};
  recipe.output_lists = outputs;
  for (const Tensors& list : outputs) {
    check_alike(list, inputs.front(), kName);
    recipe.outputs.insert(recipe.outputs.end(), list.begin(), list.end());
  }
  const at::Tensor own = rows_like(inputs.front(), inputs.size());
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    give_back(plain(inputs[i]), own[static_cast<std::int64_t>(i)]);
  }
  const at::Tensor rows =
      size_ == 1 ? own : rows_like(inputs.front(), inputs.size() * static_cast<std::size_t>(size_));
  const auto hand_out = [rows, outputs] {
    for (const Tensors& list : outputs) {
      for (std::size_t i = 0; i < list.size(); ++i) {
        give_back(rows[static_cast<std::int64_t>(i)], list[i]);
      }
    }
  };
  recipe.alone = hand_out;
  if (size_ > 1) {
    add_gather(recipe, rows, own, options.timeout);
    then(recipe, hand_out);
  }
  return submit(std::move(recipe), options.timeout);
}

}  // namespace infold::pytorch
