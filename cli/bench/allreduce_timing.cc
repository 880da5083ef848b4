// SPDX-License-Identifier: Apache-2.0

#include "cli/bench/allreduce_timing.h"

#include <algorithm>
#include <chrono>
#include <type_traits>

#include "cli/line/join_flags.h"
#include "study/desk/interrupt.h"

namespace infold::cli {
namespace {

using Clock = std::chrono::steady_clock;

// Enough bytes for a stable median, but few enough to finish in seconds even on slow links.
constexpr std::uint64_t kBytesInAll = 128'000'000;
constexpr std::uint64_t kIterationsMin = 5;
constexpr std::uint64_t kIterationsMax = 1000;

// The largest error that rounding to a format's mantissas may cause if each rank contributes values
// up to 510.
double tolerance_of(const Allreduces& calls, const std::string& format, int world) {
  if (calls.travels_as_it_is()) return 0;
  const double most = 510.0 * world;
  const double of_sum = format == "bfp8" ? most / 32 : format == "bfp16" ? most / 8192 : 0;
  // Both 1/world and the product are rounded. 2^-22 is four units in the last place of an f32.
  return calls.reduction == Reduction::average ? of_sum / world + 510 * 0x1p-22 : of_sum;
}

double together(std::uint64_t packets, std::uint64_t messages) {
  return messages == 0 ? 0 : static_cast<double>(packets) / static_cast<double>(messages);
}

std::uint64_t iterations_of(const Allreduces& calls, std::uint64_t bytes) {
  if (calls.iterations != 0) return calls.iterations;
  return std::clamp(kBytesInAll / bytes, kIterationsMin, kIterationsMax);
}

template <typename T>
Timing time_of(Communicator& communicator, const Allreduces& calls, std::uint64_t bytes,
               bool in_place, const std::stop_token& stop) {
  Timing timing;
  timing.elements = std::max<std::uint64_t>(1, bytes / sizeof(T));
  const Held held = calls.of_rows ? Held::rows : in_place ? Held::in_place : Held::whole;
  Tensors<T> tensors(timing.elements, communicator.rank(), calls.zeros, held);
  const CallOptions options = {
      .reduction = calls.reduction, .wire = calls.format(), .layout = calls.layout};
  const std::uint64_t iterations = iterations_of(calls, bytes);
  const std::uint64_t warm_ups =
      calls.warm_ups.value_or(std::clamp<std::uint64_t>(iterations / 10, 1, 10));
  timing.seconds.reserve(iterations);
  measure::ProcessorTime cpu_before;
  measure::ProcessorTime cpu_of_inputs;
  Statistics before;
  for (std::uint64_t i = 0; i < warm_ups + iterations; ++i) {
    if (i == warm_ups) {
      cpu_before = measure::process_time();
      cpu_of_inputs = {};
      before = communicator.statistics();
    }
    if (in_place) {
      const measure::ProcessorTime cpu_so_far = measure::process_time();
      tensors.make_ready();
      cpu_of_inputs = cpu_of_inputs + measure::process_time() - cpu_so_far;
    }
    const Clock::time_point start = Clock::now();
    const auto done = desk::wait_or_cancel(tensors.all_reduce(communicator, options), stop);
    if (i >= warm_ups) {
      timing.seconds.push_back(std::chrono::duration<double>(Clock::now() - start).count());
    }
    if (!done) {
      timing.error = done.error().message;
      return timing;
    }
    timing.format = calls.travels_as_it_is() ? calls.dtype : done->format;
    if (desk::InterruptGuard::interrupted()) return timing;
  }
  timing.cpu = measure::process_time() - cpu_before - cpu_of_inputs;
  const Statistics after = communicator.statistics();
  timing.resent = after.packets_resent - before.packets_resent;
  timing.asked = after.packets_asked - before.packets_asked;
  timing.calls_sparse = after.calls_sparse - before.calls_sparse;
  timing.sent_together = together(after.packets_sent - before.packets_sent,
                                  after.messages_sent - before.messages_sent);
  timing.received_together = together(after.packets_received - before.packets_received,
                                      after.messages_received - before.messages_received);
  if (calls.check) {
    const int world = communicator.world();
    timing.wrong = tensors.wrong(world, calls.reduction, tolerance_of(calls, timing.format, world));
  }
  return timing;
}

}  // namespace

bool Allreduces::travels_as_it_is() const {
  return dtype == "i32" || reduction == Reduction::min || reduction == Reduction::max;
}

WireFormat Allreduces::format() const {
  return travels_as_it_is() || wire.empty() ? WireFormat::automatic : wire_of(wire);
}

Timing time_allreduces(Communicator& communicator, const Allreduces& calls, std::uint64_t bytes,
                       bool in_place, const std::stop_token& stop) {
  if (calls.dtype == "f64") return time_of<double>(communicator, calls, bytes, in_place, stop);
  if (calls.dtype == "i32") {
    return time_of<std::int32_t>(communicator, calls, bytes, in_place, stop);
  }
  return time_of<float>(communicator, calls, bytes, in_place, stop);
}

}  // namespace infold::cli
