// SPDX-License-Identifier: Apache-2.0
//
// Reads arbitrary bytes as a trace. A trace that is written and read again must stay the same. If
// it has no fault, the feeder must hand out each node once.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/check.h"
#include "trace/feeder.h"
#include "trace/trace_check.h"
#include "trace/trace_file.h"
#include "trace/views/perfetto.h"
#include "trace/views/summary.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace infold;
  const auto trace = trace::decode({reinterpret_cast<const char*>(data), size});
  if (!trace) return 0;
  const auto again = trace::decode(trace::encode(*trace));
  CHECK(again && *again == *trace);
  static_cast<void>(trace::summary_of(*trace));
  if (trace::find_fault(*trace)) return 0;
  trace::Feeder feeder(*trace);
  std::size_t count = 0;
  for (; const auto node = feeder.next(); ++count) feeder.done(*node);
  CHECK_THAT(count, ==, trace->nodes.size());
  CHECK(feeder.is_finished());
  const trace::NamedTrace all[] = {{"a.0.et", *trace}, {"a.1.et", *trace}};
  static_cast<void>(trace::find_fault_of_set(all));
  static_cast<void>(trace::perfetto_of(all));
  return 0;
}
