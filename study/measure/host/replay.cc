// SPDX-License-Identifier: Apache-2.0
//
// In the parts that run in the cache, packets and tensors together take less than half a MiB at MTU
// 1500, and a MiB at 9000.
#include "study/measure/host/replay.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <functional>
#include <memory>
#include <vector>

#include "base/check.h"
#include "rank/drivers/worker_driver.h"
#include "study/measure/cost/bench_packets.h"
#include "study/measure/cost/processor_time.h"
#include "study/measure/cost/spread.h"
#include "study/measure/host/chunk_shape.h"
#include "study/measure/host/cores.h"
#include "study/measure/host/echo_endpoint.h"
#include "study/measure/host/socket_replay.h"

namespace infold::measure {
namespace {

// The size of a tensor that stays in the L2 cache together with its result and packets.
constexpr std::uint64_t kCachedBytes = 128 << 10;
// The number of packets in flight, which make two trains at MTU 1500.
constexpr std::uint16_t kWindow = 64;
constexpr std::size_t kSamples = 5;

struct Memory {
  Memory(const Replay& replay, const ChunkShape& shape)
      : elements(shape.elements * shape.count),
        input(make_bench_tensor(replay.layout, elements, 1)),
        output(input.size()) {}

  std::uint64_t elements;
  std::vector<std::byte> input;
  std::vector<std::byte> output;
};

// Returns the median time of a pass over `bytes` of tensor, scaled to a GB. The first pass touches
// all memory.
double median_s(std::uint64_t bytes, const std::function<void()>& pass) {
  pass();
  std::vector<double> samples;
  for (std::size_t i = 0; i < kSamples; ++i) {
    const double start = process_s();
    pass();
    samples.push_back((process_s() - start) * 1e9 / static_cast<double>(bytes));
  }
  return spread_of(std::move(samples)).median;
}

Replay of_bytes(Replay replay, std::uint64_t bytes) {
  replay.bytes = bytes;
  return replay;
}

// Returns how often the tensor must be summed to reach the bytes of the whole one.
std::uint64_t times_of(const Replay& whole, const Memory& memory) {
  return std::max<std::uint64_t>(1, whole.bytes / memory.input.size());
}

double codec_s(const Replay& whole) {
  const Replay replay = of_bytes(whole, kCachedBytes);
  const ChunkShape shape(replay);
  Memory memory(replay, shape);
  const core::TensorCodec& codec = bench_codec(replay.layout);
  std::vector<std::byte> packets(kWindow * shape.datagram_bytes_max);
  const std::uint32_t exponent_bytes = replay.layout.exponent_bytes(shape.elements);
  const std::uint64_t times = times_of(whole, memory);
  const auto pass = [&] {
    for (std::uint64_t i = 0; i < times * shape.count; i += kWindow) {
      const auto at = [&](std::uint64_t k) {
        return packets.data() + k * shape.datagram_bytes + INFOLD_HEADER_BYTES;
      };
      const auto range = [&](std::uint64_t k) {
        return core::ChunkRange{(i + k) % shape.count * shape.elements, shape.elements};
      };
      const std::uint64_t together = std::min<std::uint64_t>(kWindow, times * shape.count - i);
      for (std::uint64_t k = 0; k < together && !codec.copies; ++k) {
        codec.encode(nullptr, memory.input.data(), range(k), nullptr, at(k),
                     at(k) + exponent_bytes);
      }
      for (std::uint64_t k = 0; k < together; ++k) {
        codec.decode(nullptr, memory.output.data(), range(k),
                     {.exponents = at(k), .elements = at(k) + exponent_bytes});
      }
    }
  };
  return median_s(times * memory.input.size(), pass);
}

class OneCall final : public rank::EventSink {
 public:
  void take(base::Instant, const core::Event& event) override {
    CHECK(!event.failure);
    is_done_ = true;
  }
  void settle() override {}
  void begin() { is_done_ = false; }
  bool is_done() const { return is_done_; }

 private:
  std::atomic<bool> is_done_{false};
};

// Measures a rank with all its parts except sockets: driver, state machine and codec.
double machine_s(const Replay& whole, std::uint64_t tensor_bytes) {
  const Replay replay = of_bytes(whole, tensor_bytes);
  const ChunkShape shape(replay);
  Memory memory(replay, shape);
  plan::Plan plan = bench_plan(1, 0);
  plan.datagram_bytes_max = shape.datagram_bytes_max;
  plan.bulk_slots = 448;
  core::WorkerOptions options = plan::worker_options(plan, 0);
  options.window_max = kWindow;
  OneCall call;
  rank::WorkerDriver driver(
      options, std::make_unique<EchoEndpoint>(shape.datagram_bytes_max, kWindow + 1), call);
  driver.start();

  core::TransferRequest request;
  request.layout = replay.layout;
  request.elements = memory.elements;
  request.codec = &bench_codec(replay.layout);
  request.input = memory.input.data();
  request.output = memory.output.data();
  const std::uint64_t times = times_of(whole, memory);
  const auto pass = [&] {
    for (std::uint64_t i = 0; i < times; ++i) {
      call.begin();
      const auto id = driver.with_worker(
          [&](core::Worker& worker, base::Instant now) { return worker.submit(now, request); });
      CHECK(id.has_value());
      while (!call.is_done()) {
        driver.drive_until([&call] { return call.is_done(); }, base::Instant::never());
      }
    }
  };
  return median_s(times * memory.input.size(), pass);
}

double copy_s(std::uint64_t buffer_bytes, std::uint64_t bytes) {
  const std::vector<std::byte> source(buffer_bytes, std::byte{1});
  std::vector<std::byte> target(buffer_bytes);
  // The call goes through a pointer that may change, because compilers would otherwise remove a
  // copy whose target is never read.
  void* (*volatile copy)(void*, const void*, std::size_t) = std::memcpy;
  const std::uint64_t times = std::max<std::uint64_t>(1, bytes / buffer_bytes);
  return median_s(times * buffer_bytes, [&] {
    for (std::uint64_t i = 0; i < times; ++i) copy(target.data(), source.data(), source.size());
  });
}

}  // namespace

AloneTimes replay(const Replay& replay) {
  AloneTimes times;
  times.codec_s = codec_s(replay);
  times.machine_cached_s = machine_s(replay, kCachedBytes);
  times.machine_s = machine_s(replay, replay.bytes);
  const std::vector<int> cores = own_cores();
  SocketReplay sockets;
  sockets.datagram_bytes = ChunkShape(replay).datagram_bytes;
  sockets.rank_core = sockets.other_core = cores.front();
  sockets.payload_bytes = encodes(replay) ? 0 : kCachedBytes;
  times.sockets_s = sockets_s(replay, sockets);
  if (!encodes(replay)) {
    SocketReplay from_memory = sockets;
    from_memory.payload_bytes = replay.bytes;
    times.sockets_memory_s = sockets_s(replay, from_memory);
  }
  if (replay.apart && cores.size() > 1) {
    SocketReplay apart = sockets;
    apart.other_core = cores[1];
    times.sockets_apart_s = sockets_s(replay, apart);
  }
  sockets.datagram_bytes = INFOLD_HEADER_BYTES;
  sockets.payload_bytes = 0;
  times.sockets_headers_s = sockets_s(replay, sockets);
  return times;
}

bool encodes(const Replay& replay) { return !bench_codec(replay.layout).copies; }

double wire_share(const Replay& replay) {
  const ChunkShape shape(replay);
  return static_cast<double>(shape.datagram_bytes) / static_cast<double>(shape.tensor_bytes);
}

CopyTimes measure_copies(std::uint64_t bytes) {
  return {.memory_s = copy_s(bytes, bytes), .cache_s = copy_s(kCachedBytes, bytes)};
}

}  // namespace infold::measure
