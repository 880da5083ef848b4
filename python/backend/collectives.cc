// SPDX-License-Identifier: Apache-2.0
//
// The recipes of collectives that the network sums or moves.
#include <utility>

#include <torch/csrc/distributed/c10d/Utils.hpp>

#include "python/backend/backend.h"
#include "python/backend/delegate/host_copies.h"
#include "python/backend/forked.h"
#include "python/backend/lists/list_checks.h"
#include "python/backend/recipes.h"

namespace infold::pytorch {
namespace {

using ::c10d::OpType;

// Complex numbers are summed as pairs of real ones.
at::Tensor as_real(const at::Tensor& tensor, const ::c10d::ReduceOp& operation) {
  if (!tensor.is_complex()) return tensor;
  TORCH_CHECK(::c10d::isComplexViewAsRealAllowed(operation),
              "infold: complex tensors can be summed and averaged, and nothing else");
  return at::view_as_real(tensor);
}

// In a group of one rank, the sum is the tensor times the factor.
void multiply(const at::Tensor& tensor, const Summing& summing) {
  if (!summing.factor) return;
  give_back(network_form(tensor, tensor.scalar_type(), summing.factor), tensor);
}

void add_sum(Recipe& recipe, const at::Tensor& tensor, const Summing& summing, CallOptions call) {
  call.reduction = summing.reduction;
  add_in_place(recipe, tensor, {summing.type, summing.factor},
               [call](Communicator& communicator, TensorView input, MutableTensorView output) {
                 return communicator.all_reduce(input, output, call);
               });
}

at::Tensor flat(const at::Tensor& tensor) { return tensor.detach().view(-1); }

}  // namespace

Backend::Works Backend::allreduce(Tensors& tensors, const ::c10d::AllreduceOptions& options) {
  return allreduce_as(tensors, options, {});
}

CallOptions Backend::sum_options(const Summing& summing, const Travel& travel,
                                 std::chrono::milliseconds timeout) const {
  CallOptions call = call_options(timeout);
  call.reduction = summing.reduction;
  if (summing.is_float) call.wire = travel.wire;
  if (can_be_sparse(summing.reduction) && !needs_all_elements(summing, travel)) {
    call.layout = travel.layout.value_or(options_.layout);
  }
  return call;
}

bool Backend::needs_all_elements(const Summing& summing, const Travel& travel) const {
  const WireFormat wire = travel.wire == WireFormat::automatic ? options_.join.wire : travel.wire;
  return summing.is_float && wire == WireFormat::fixed32;
}

Backend::Works Backend::allreduce_as(Tensors& tensors, const ::c10d::AllreduceOptions& options,
                                     const Travel& travel) {
  constexpr const char* kName = "all_reduce";
  ::c10d::assertNonEmpty(refusal_of(kName), tensors);
  const bool is_sparse = tensors[0].defined() && tensors[0].is_sparse();
  if (is_sparse) return allreduce_rows(tensors, options, travel);
  if (tensors.size() != 1) return allreduce_list(tensors, options);
  check_tensor(tensors[0], kName);
  const at::Tensor tensor = as_real(tensors[0], options.reduceOp);
  const std::optional<Summing> summing = summing_of(options.reduceOp, tensor.scalar_type());
  if (!summing) {
    check_reduction(options.reduceOp, tensor.scalar_type(), kName);
    HostCopies copies(Use::reduce);
    return delegated(
        copies, CallFingerprint(OpType::ALLREDUCE, tensor).reduces_by(options.reduceOp),
        [delegate = delegate_, host = copies.written(tensors), options]() mutable {
          return delegate->allreduce(host, options);
        },
        options.timeout);
  }
  Recipe recipe = {OpType::ALLREDUCE, "infold:all_reduce", tensors, tensors};
  recipe.alone = [tensor, summing = *summing] { multiply(tensor, summing); };
  if (size_ > 1) {
    add_sum(recipe, tensor, *summing, sum_options(*summing, travel, options.timeout));
  }
  return submit(std::move(recipe), options.timeout);
}

Backend::Works Backend::allreduce_coalesced(Tensors& tensors,
                                            const ::c10d::AllreduceCoalescedOptions& options) {
  constexpr const char* kName = "all_reduce_coalesced";
  ::c10d::assertNonEmpty(refusal_of(kName), tensors);
  Recipe recipe = {OpType::ALLREDUCE_COALESCED, "infold:all_reduce_coalesced", tensors, tensors};
  std::vector<Summing> summings;
  bool is_list = true;  // one call can take all tensors as they are
  for (const at::Tensor& tensor : tensors) {
    check_tensor(tensor, kName);
    const std::optional<Summing> summing =
        summing_of(options.reduceOp, as_real(tensor, options.reduceOp).scalar_type());
    if (!summing) {
      check_reduction(options.reduceOp, tensor.scalar_type(), kName);
      HostCopies copies(Use::reduce);
      return delegated(
          copies,
          CallFingerprint(OpType::ALLREDUCE_COALESCED, tensors).reduces_by(options.reduceOp),
          [delegate = delegate_, host = copies.written(tensors), options]() mutable {
            return delegate->allreduce_coalesced(host, options);
          },
          options.timeout);
    }
    is_list = is_list && tensor.device().is_cpu() && is_plain(tensor) && !summing->factor &&
              summing->type == tensor.scalar_type() && summing->type == tensors[0].scalar_type();
    summings.push_back(*summing);
  }
  CallOptions call = call_options(options.timeout);  // lists are dense
  call.reduction = summings.front().reduction;
  if (is_list && size_ > 1) {
    const auto begin = [tensors, call](Communicator& communicator) {
      std::vector<MutableTensorView> views;
      for (const at::Tensor& tensor : tensors) views.push_back(view_of(tensor));
      return communicator.all_reduce_list(views, call);
    };
    recipe.steps.push_back({{}, begin, {}});
    return submit(std::move(recipe), options.timeout);
  }
  for (std::size_t i = 0; i < tensors.size() && size_ > 1; ++i) {
    add_sum(recipe, as_real(tensors[i], options.reduceOp), summings[i], call);
  }
  recipe.alone = [tensors, summings] {
    for (std::size_t i = 0; i < tensors.size(); ++i) multiply(tensors[i], summings[i]);
  };
  return submit(std::move(recipe), options.timeout);
}

Backend::Works Backend::broadcast(Tensors& tensors, const ::c10d::BroadcastOptions& options) {
  constexpr const char* kName = "broadcast";
  check_root(options.rootRank, size_, options.rootTensor, tensors.size(), kName);
  const at::Tensor& tensor = tensors.front();
  check_tensor(tensor, kName);
  if (tensors.size() > 1) return broadcast_list(tensors, options);
  Recipe recipe = {OpType::BROADCAST, "infold:broadcast", tensors, tensors};
  recipe.root = static_cast<int>(options.rootRank);
  const CallOptions call = call_options(options.timeout);
  if (size_ > 1) {
    add_in_place(recipe, tensor, {tensor.scalar_type()},
                 [call, root = static_cast<int>(options.rootRank)](
                     Communicator& communicator, TensorView, MutableTensorView output) {
                   return communicator.broadcast(output, root, call);
                 });
  }
  return submit(std::move(recipe), options.timeout);
}

Backend::Works Backend::reduce(Tensors& tensors, const ::c10d::ReduceOptions& options) {
  check_tensor(only(tensors, "reduce"), "reduce");
  check_root(options.rootRank, size_, options.rootTensor, tensors.size(), "reduce");
  const at::Tensor tensor = as_real(tensors[0], options.reduceOp);
  const std::optional<Summing> summing = summing_of(options.reduceOp, tensor.scalar_type());
  if (!summing) {
    check_reduction(options.reduceOp, tensor.scalar_type(), "reduce");
    HostCopies copies(Use::reduce);
    return delegated(
        copies,
        CallFingerprint(OpType::REDUCE, tensor)
            .reduces_by(options.reduceOp)
            .has_root(options.rootRank),
        [delegate = delegate_, host = copies.written(tensors), options]() mutable {
          return delegate->reduce(host, options);
        },
        options.timeout);
  }
  CallOptions call = call_options(options.timeout);
  call.reduction = summing->reduction;
  Recipe recipe = {OpType::REDUCE, "infold:reduce", tensors, tensors};
  recipe.root = static_cast<int>(options.rootRank);
  recipe.alone = [tensor, summing = *summing] { multiply(tensor, summing); };
  const auto begin = [call, root = static_cast<int>(options.rootRank), rank = rank_](
                         Communicator& communicator, TensorView input, MutableTensorView output) {
    return communicator.reduce(input, rank == root ? output : MutableTensorView{}, root, call);
  };
  if (size_ > 1) add_in_place(recipe, tensor, {summing->type, summing->factor}, begin);
  if (size_ > 1 && rank_ != options.rootRank) {
    for (Step& step : recipe.steps) step.after = {};  // only the root receives a result
  }
  return submit(std::move(recipe), options.timeout);
}

void Backend::add_gather(Recipe& recipe, const at::Tensor& output, const at::Tensor& input,
                         std::chrono::milliseconds timeout) const {
  add_apart(recipe, input, output, {input.scalar_type()},
            [call = call_options(timeout)](Communicator& communicator, TensorView part,
                                           MutableTensorView whole) {
              return communicator.all_gather(part, whole, call);
            });
}

void Backend::add_scatter(Recipe& recipe, const at::Tensor& output, const at::Tensor& input,
                          const Summing& summing, std::chrono::milliseconds timeout) const {
  CallOptions call = call_options(timeout);
  call.reduction = summing.reduction;
  add_apart(recipe, input, output, {summing.type, summing.factor},
            [call](Communicator& communicator, TensorView whole, MutableTensorView part) {
              return communicator.reduce_scatter(whole, part, call);
            });
}

Backend::Works Backend::allgather(std::vector<Tensors>& outputs, Tensors& inputs,
                                  const ::c10d::AllgatherOptions& options) {
  constexpr const char* kName = "all_gather";
  check_paired(inputs.size(), outputs.size(), kName);
  const std::size_t count = inputs.size() * static_cast<std::size_t>(size_);
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    TORCH_CHECK(outputs[i].size() == count, "infold: ", kName,
                ": invalid output tensor list at index ", i, " (expected length ", count, ", got ",
                outputs[i].size(), ")");
  }
  if (inputs.size() > 1) return allgather_list(outputs, inputs, options);
  return submit(gather_lists(outputs, inputs, OpType::ALLGATHER, options.timeout), options.timeout);
}

Backend::Works Backend::allgather_coalesced(std::vector<Tensors>& outputs, Tensors& inputs,
                                            const ::c10d::AllgatherOptions& options) {
  constexpr const char* kName = "all_gather_coalesced";
  check_lists_of_ranks(outputs, inputs.size(), size_, kName);
  // Here each list belongs to a rank and has a tensor for each input, so they are transposed.
  std::vector<Tensors> turned(inputs.size());
  for (const Tensors& of_rank : outputs) {
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      check_tensor(inputs[i], kName);
      check_tensor(of_rank[i], kName);
      TORCH_CHECK(of_rank[i].numel() == inputs[i].numel(), "infold: ", kName,
                  ": invalid size of output tensor at index ", i, " (expected length ",
                  inputs[i].sizes(), ", got ", of_rank[i].sizes(), ")");
      turned[i].push_back(of_rank[i]);
    }
  }
  Recipe recipe = gather_lists(turned, inputs, OpType::ALLGATHER_COALESCED, options.timeout);
  recipe.output_lists = outputs;
  return submit(std::move(recipe), options.timeout);
}

// Makes a list for each input, with one tensor for each rank. Requires: as many lists as inputs.
Recipe Backend::gather_lists(const std::vector<Tensors>& outputs, const Tensors& inputs,
                             OpType type, std::chrono::milliseconds timeout) {
  constexpr const char* kName = "all_gather";
  Recipe recipe = {type, "infold:all_gather", inputs};
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const at::Tensor& input = inputs[i];
    check_tensor(input, kName);
    check_alike(outputs[i], input, kName);
    recipe.outputs.insert(recipe.outputs.end(), outputs[i].begin(), outputs[i].end());
    if (size_ == 1) continue;
    const at::Tensor rows = rows_like(input, outputs[i].size());
    add_gather(recipe, rows, input, timeout);
    then(recipe, [rows, list = outputs[i]] {
      for (std::size_t rank = 0; rank < list.size(); ++rank) {
        give_back(rows[static_cast<std::int64_t>(rank)], list[rank]);
      }
    });
  }
  recipe.alone = [outputs, inputs] {
    for (std::size_t i = 0; i < inputs.size(); ++i) give_back(inputs[i], outputs[i][0]);
  };
  return recipe;
}

Backend::Works Backend::_allgather_base(at::Tensor& output, at::Tensor& input,
                                        const ::c10d::AllgatherOptions& options) {
  Tensors outputs = {output};
  Tensors inputs = {input};
  return allgather_into_tensor_coalesced(outputs, inputs, options);
}

Backend::Works Backend::allgather_into_tensor_coalesced(Tensors& outputs, Tensors& inputs,
                                                        const ::c10d::AllgatherOptions& options) {
  constexpr const char* kName = "all_gather_into_tensor";
  Recipe recipe = {OpType::_ALLGATHER_BASE, "infold:all_gather_into_tensor", inputs, outputs};
  check_parts(outputs, inputs, size_, kName);
  for (std::size_t i = 0; i < inputs.size() && size_ > 1; ++i) {
    add_gather(recipe, outputs[i], inputs[i], options.timeout);
  }
  recipe.alone = [outputs, inputs] {
    for (std::size_t i = 0; i < inputs.size(); ++i) give_back(inputs[i].contiguous(), outputs[i]);
  };
  return submit(std::move(recipe), options.timeout);
}

Backend::Works Backend::reduce_scatter(Tensors& outputs, std::vector<Tensors>& inputs,
                                       const ::c10d::ReduceScatterOptions& options) {
  constexpr const char* kName = "reduce_scatter";
  ::c10d::assertSingleElementOutput(refusal_of(kName), outputs);
  check_one_for_each_rank(Argument::input, inputs, size_, kName);
  check_tensor(outputs[0], kName);
  check_alike(inputs[0], outputs[0], kName);
  const at::Tensor rows = rows_like(outputs[0], inputs[0].size());
  for (std::size_t rank = 0; rank < inputs[0].size(); ++rank) {
    give_back(inputs[0][rank].contiguous(), rows[static_cast<std::int64_t>(rank)]);
  }
  Tensors whole = {rows};
  return scatter_each(outputs, whole, options, OpType::REDUCE_SCATTER, [&] {
    HostCopies copies(Use::reduce);
    return delegated(
        copies, CallFingerprint(OpType::REDUCE_SCATTER, outputs).reduces_by(options.reduceOp),
        [delegate = delegate_, to = copies.written(outputs),
         from = std::vector<Tensors>{copies.read(inputs[0])},
         options]() mutable { return delegate->reduce_scatter(to, from, options); },
        options.timeout);
  });
}

Backend::Works Backend::_reduce_scatter_base(at::Tensor& output, at::Tensor& input,
                                             const ::c10d::ReduceScatterOptions& options) {
  Tensors outputs = {output};
  Tensors inputs = {input};
  return scatter_each(outputs, inputs, options, OpType::_REDUCE_SCATTER_BASE, [&] {
    HostCopies copies(Use::reduce);
    // The delegate compares first dimensions, so both tensors are flattened.
    return delegated(
        copies, CallFingerprint(OpType::_REDUCE_SCATTER_BASE, output).reduces_by(options.reduceOp),
        [delegate = delegate_, to = flat(copies.written(output)), from = flat(copies.read(input)),
         options]() mutable { return delegate->_reduce_scatter_base(to, from, options); },
        options.timeout);
  });
}

Backend::Works Backend::reduce_scatter_tensor_coalesced(
    Tensors& outputs, Tensors& inputs, const ::c10d::ReduceScatterOptions& options) {
  return scatter_each(outputs, inputs, options, kListReduceScatter, [&] {
    HostCopies copies(Use::reduce);
    Tensors to;
    Tensors from;
    for (const at::Tensor& output : outputs) to.push_back(flat(copies.written(output)));
    for (const at::Tensor& input : inputs) from.push_back(flat(copies.read(input)));
    return delegated(
        copies, CallFingerprint(kListReduceScatter, outputs).reduces_by(options.reduceOp),
        [delegate = delegate_, to, from, options]() mutable {
          return delegate->reduce_scatter_tensor_coalesced(to, from, options);
        },
        options.timeout);
  });
}

Backend::Works Backend::scatter_each(Tensors& outputs, Tensors& inputs,
                                     const ::c10d::ReduceScatterOptions& options, OpType type,
                                     const std::function<Works()>& delegated) {
  check_parts(inputs, outputs, size_, "reduce_scatter");
  Recipe recipe = {type, "infold:reduce_scatter", inputs, outputs};
  std::vector<Summing> summings;
  for (const at::Tensor& output : outputs) {
    const std::optional<Summing> summing =
        summing_of(options.reduceOp, as_real(output, options.reduceOp).scalar_type());
    if (!summing) {
      check_reduction(options.reduceOp, output.scalar_type(), "reduce_scatter");
      return delegated();
    }
    summings.push_back(*summing);
  }
  for (std::size_t i = 0; i < inputs.size() && size_ > 1; ++i) {
    add_scatter(recipe, as_real(outputs[i], options.reduceOp), as_real(inputs[i], options.reduceOp),
                summings[i], options.timeout);
  }
  recipe.alone = [outputs, inputs, summings] {
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      give_back(network_form(inputs[i], inputs[i].scalar_type(), summings[i].factor), outputs[i]);
    }
  };
  return submit(std::move(recipe), options.timeout);
}

Backend::Works Backend::barrier(const ::c10d::BarrierOptions& options) {
  refuse_child(process_);
  Recipe recipe = {OpType::BARRIER, "infold:barrier"};
  recipe.predecessors = job_->unfinished();
  {
    const base::MutexLock lock(delegated_mutex_);
    recipe.delegated.assign(delegated_.begin(), delegated_.end());
  }
  const auto begin = [call = call_options(options.timeout)](Communicator& communicator) {
    return communicator.barrier(call);
  };
  recipe.steps.push_back({{}, begin, {}});
  return submit(std::move(recipe), options.timeout);
}

}  // namespace infold::pytorch
