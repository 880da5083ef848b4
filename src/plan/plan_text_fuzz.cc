// SPDX-License-Identifier: Apache-2.0
//
// Reads arbitrary text as a plan. If that succeeds, every worker and aggregator and all messages
// can be made from the plan, and writing it and reading it again does not change it.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/check.h"
#include "plan/messages.h"
#include "plan/plan_text.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace infold;
  const auto plan = plan::read_plan({reinterpret_cast<const char*>(data), size});
  if (!plan) return 0;
  const auto again = plan::read_plan(plan::write_plan(*plan));
  CHECK(again && *again == *plan);
  // The memory of workers and aggregators grows with slots and ranks, so large plans end here.
  if (plan->world > 32 || plan->slots() > 64) return 0;
  for (std::uint16_t rank = 0; rank < plan->world; ++rank) {
    core::WorkerOptions options = plan::worker_options(*plan, rank);
    options.transfers_max = 2;
    const core::Worker worker(options);
  }
  for (std::size_t tree = 0; tree < plan->trees.size(); ++tree) {
    for (std::uint16_t i = 0; i < plan->trees[tree].aggregators.size(); ++i) {
      const core::Aggregator aggregator(plan::aggregator_options(*plan, tree, i));
    }
  }
  plan::Call call;
  call.layout = {core::WireFormat::bfp32, core::DataType::f64};
  call.elements = 1000;
  if (plan->formats.has(call.layout.format)) CHECK(!plan::messages_of(*plan, call).empty());
  return 0;
}
