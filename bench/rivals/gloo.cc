// SPDX-License-Identifier: Apache-2.0
//
// infold-rival-gloo: sums with Gloo over TCP. `ring` is PyTorch's algorithm without GPUs. `ring4`
// gives a quarter of the tensor to each of four devices, which have a thread each. `hd` is halving
// and doubling. With `oneshot` every rank sends its tensor to all others, which needs the fewest
// hops and the most bytes. `union` and `coo` leave out zeros.

#include <algorithm>
#include <chrono>
#include <exception>
#include <memory>
#include <thread>
#include <vector>

#include <fmt/format.h>
#include <gloo/allreduce_halving_doubling.h>
#include <gloo/barrier.h>
#include <gloo/math.h>
#include <gloo/rendezvous/context.h>
#include <gloo/rendezvous/file_store.h>
#include <gloo/rendezvous/prefix_store.h>
#include <gloo/transport/tcp/device.h>

#include "bench/rivals/gloo_sparse.h"

namespace infold::rivals {
namespace {

// Long enough for a sum over slow links. The timeout ends the run if a rank is gone.
constexpr std::chrono::minutes kTimeout{5};

// Each group of connections has its own device, and so its own thread that waits for them.
Context connect(const Options& options, const std::string& group) {
  gloo::transport::tcp::attr attributes;
  attributes.hostname = options.address;
  auto device = gloo::transport::tcp::CreateDevice(attributes);
  auto context = std::make_shared<gloo::rendezvous::Context>(options.rank, options.world);
  context->setTimeout(kTimeout);
  gloo::rendezvous::FileStore files(options.store);
  gloo::rendezvous::PrefixStore store(group, files);
  context->connectFullMesh(store, device);
  return context;
}

Reduce ring(const Context& context, std::span<float>) {
  return [context](std::span<const float>, std::span<float> tensor) { ring_sum(context, tensor); };
}

// A separate device sums each quarter, as PyTorch does with four tensors that are in flight.
Reduce four_rings(const Options& options) {
  constexpr std::size_t kDevices = 4;
  std::vector<Context> contexts;
  for (std::size_t i = 0; i < kDevices; ++i) {
    contexts.push_back(connect(options, fmt::format("device{}", i)));
  }
  return [contexts](std::span<const float>, std::span<float> tensor) {
    const std::size_t part = (tensor.size() + kDevices - 1) / kDevices;
    std::vector<std::jthread> threads;
    for (std::size_t i = 0; i < kDevices && i * part < tensor.size(); ++i) {
      const std::size_t elements = std::min(part, tensor.size() - i * part);
      threads.emplace_back(
          [&, i, elements] { ring_sum(contexts[i], tensor.subspan(i * part, elements)); });
    }
  };
}

Reduce halving_doubling(const Context& context, std::span<float> tensor) {
  auto algorithm = std::make_shared<gloo::AllreduceHalvingDoubling<float>>(
      context, std::vector<float*>{tensor.data()}, static_cast<int>(tensor.size()));
  return [algorithm](std::span<const float>, std::span<float>) { algorithm->run(); };
}

// Buffers for the tensors of all ranks, registered once. `own` is the caller's tensor.
struct OneShot {
  using Buffer = std::unique_ptr<gloo::transport::UnboundBuffer>;

  OneShot(const Context& group, std::span<float> tensor)
      : context(group), own(context->createUnboundBuffer(tensor.data(), tensor.size_bytes())) {
    received.resize(static_cast<std::size_t>(context->size - 1));
    for (auto& each : received) {
      each.resize(tensor.size());
      others.push_back(context->createUnboundBuffer(each.data(), tensor.size_bytes()));
    }
  }

  void run(std::span<float> tensor) {
    // The slot alternates, so that the next tensor of a fast rank is not mistaken for this one.
    slot ^= 1;
    std::size_t next = 0;
    for (int step = 1; step < context->size; ++step) {
      others[next++]->recv((context->rank + step) % context->size, slot);
    }
    for (int step = 1; step < context->size; ++step) {
      own->send((context->rank + context->size - step) % context->size, slot);
    }
    for (auto& buffer : others) buffer->waitRecv(kTimeout);
    // The tensor must not change while it is being sent.
    for (int step = 1; step < context->size; ++step) own->waitSend(kTimeout);
    for (const auto& each : received) {
      gloo::sum<float>(tensor.data(), tensor.data(), each.data(), tensor.size());
    }
  }

  Context context;
  Buffer own;
  std::vector<std::vector<float>> received;
  std::vector<Buffer> others;
  std::uint64_t slot = 0;
};

Reduce one_shot(const Context& context, std::span<float> tensor) {
  auto exchange = std::make_shared<OneShot>(context, tensor);
  return [exchange](std::span<const float>, std::span<float> sum) { exchange->run(sum); };
}

int run(const Options& options) {
  const Context context = connect(options, "all");
  const bool is_sparse = options.algorithm == "union" || options.algorithm == "coo";
  const Prepare prepare = [&](std::span<float> tensor) {
    if (options.algorithm == "ring") return ring(context, tensor);
    if (options.algorithm == "ring4") return four_rings(options);
    if (options.algorithm == "hd") return halving_doubling(context, tensor);
    if (options.algorithm == "oneshot") return one_shot(context, tensor);
    auto* const sparse = options.algorithm == "union" ? ring_over_union : gathered_rows;
    return sparse(context, options.block, tensor.size());
  };
  const bool exact = measure(options, "gloo-" + options.algorithm,
                             is_sparse ? Memory::apart : Memory::in_place, prepare);
  // A rank must not close a connection on which another rank still waits.
  gloo::BarrierOptions last(context);
  gloo::barrier(last);
  return exact ? 0 : 1;
}

}  // namespace
}  // namespace infold::rivals

int main(int argc, char** argv) {
  infold::rivals::Options options;
  const infold::rivals::Program program{"infold-rival-gloo",
                                        {"ring", "ring4", "hd", "oneshot", "union", "coo"}};
  const int code = infold::rivals::parse(program, argc, argv, options);
  if (code >= 0) return code;
  try {
    return infold::rivals::run(options);
  } catch (const std::exception& error) {
    fmt::print(stderr, "infold-rival-gloo: rank {}: {}\n", options.rank, error.what());
    return 1;
  }
}
