// SPDX-License-Identifier: Apache-2.0
//
// What the network does not: the delegate's collectives, with tensors of the host.
#include "python/backend/backend.h"
#include "python/backend/relay.h"

namespace infold::pytorch {

Backend::Works Backend::gather(std::vector<Tensors>& outputs, Tensors& inputs,
                               const ::c10d::GatherOptions& options) {
  HostCopies copies(Use::move);
  std::vector<Tensors> host_outputs;
  for (const Tensors& list : outputs) host_outputs.push_back(copies.written(list));
  Tensors host_inputs = copies.read(inputs);
  return delegated(copies, delegate_->gather(host_outputs, host_inputs, options), options.timeout);
}

Backend::Works Backend::scatter(Tensors& outputs, std::vector<Tensors>& inputs,
                                const ::c10d::ScatterOptions& options) {
  HostCopies copies(Use::move);
  Tensors host_outputs = copies.written(outputs);
  std::vector<Tensors> host_inputs;
  for (const Tensors& list : inputs) host_inputs.push_back(copies.read(list));
  return delegated(copies, delegate_->scatter(host_outputs, host_inputs, options), options.timeout);
}

Backend::Works Backend::alltoall_base(at::Tensor& output, at::Tensor& input,
                                      std::vector<std::int64_t>& output_splits,
                                      std::vector<std::int64_t>& input_splits,
                                      const ::c10d::AllToAllOptions& options) {
  HostCopies copies(Use::move);
  at::Tensor host_output = copies.written(output);
  at::Tensor host_input = copies.read(input);
  return delegated(
      copies,
      delegate_->alltoall_base(host_output, host_input, output_splits, input_splits, options),
      options.timeout);
}

Backend::Works Backend::alltoall(Tensors& outputs, Tensors& inputs,
                                 const ::c10d::AllToAllOptions& options) {
  constexpr const char* kName = "all_to_all";
  check_parcels(outputs, size_, kName);
  check_parcels(inputs, size_, kName);
  TORCH_CHECK(inputs[0].scalar_type() == outputs[0].scalar_type(), "infold: ", kName,
              ": the inputs and the outputs are of ", inputs[0].scalar_type(), " and ",
              outputs[0].scalar_type(), "; they must be of one type");
  // The delegate's own takes lists of one size only.
  std::vector<std::int64_t> output_splits;
  std::vector<std::int64_t> input_splits;
  for (const at::Tensor& output : outputs) output_splits.push_back(output.numel());
  for (const at::Tensor& input : inputs) input_splits.push_back(input.numel());
  HostCopies copies(Use::move);
  at::Tensor host_output = copies.written_joined(outputs);
  at::Tensor host_input = copies.read_joined(inputs);
  return delegated(
      copies,
      delegate_->alltoall_base(host_output, host_input, output_splits, input_splits, options),
      options.timeout);
}

Backend::Works Backend::send(Tensors& tensors, int to, int tag) {
  HostCopies copies(Use::move);
  Tensors host = copies.read(tensors);
  return copies.after(delegate_->send(host, to, tag));
}

Backend::Works Backend::recv(Tensors& tensors, int from, int tag) {
  HostCopies copies(Use::move);
  Tensors host = copies.written(tensors);
  return copies.after(delegate_->recv(host, from, tag));
}

Backend::Works Backend::recvAnysource(Tensors& tensors, int tag) {
  HostCopies copies(Use::move);
  Tensors host = copies.written(tensors);
  return copies.after(delegate_->recvAnysource(host, tag));
}

void Backend::monitoredBarrier(const ::c10d::BarrierOptions& options, bool wait_all) {
  delegate_->monitoredBarrier(options, wait_all);
}

}  // namespace infold::pytorch
