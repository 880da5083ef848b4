// SPDX-License-Identifier: Apache-2.0
//
// Turns a scenario into one with pipelines that only add, as P4 switches do.
#include <utility>

#include "core/adder/adder.h"
#include "study/sim/scenario/draw.h"

namespace infold::sim {
namespace {

using core::Collective;
using core::DataType;
using core::Reduction;

// Such a pipeline cannot sum integers of 64 bits. Floats travel by digits or agreed exponents.
void fit(CallPlan& call) {
  call.compression.reset();
  call.is_sparse = false;
  const bool adds = call.reduction == Reduction::sum || call.reduction == Reduction::average;
  const bool sums_floats = core::is_float(call.layout.dtype) && adds &&
                           call.collective != Collective::broadcast && call.elements > 0;
  if (sums_floats) {
    call.digits = !call.agreed;
    call.sized_by_previous = false;
    call.layout.format = core::WireFormat::i32;
    return;
  }
  if (call.layout.dtype == DataType::f64) call.layout.dtype = DataType::f32;
  if (call.layout.dtype == DataType::i64) call.layout.dtype = DataType::i32;
  call.layout.format = core::integer_format(call.layout.dtype);
  call.values.dtype = call.layout.dtype;
}

}  // namespace

bool only_add(Scenario& scenario) {
  if (scenario.plan.world > core::kAdderWorkersMax) return false;
  scenario.only_adds = true;
  for (plan::Tree& tree : scenario.plan.trees) {
    tree = plan::flat_tree(scenario.plan.world, tree.weight);
    plan::set_takes_sparse(tree, false);
  }
  for (CallPlan& call : scenario.calls) fit(call);
  return true;
}

void add_as_chips(Scenario& scenario) {
  const core::FormatSet formats = core::FormatSet::of(core::WireFormat::i32);
  const core::ReductionSet reductions = {Reduction::sum, Reduction::average, Reduction::max};
  scenario.plan.formats = formats;
  bool is_big_endian = true;
  for (plan::Tree& tree : scenario.plan.trees) {
    plan::Aggregator& pipeline = tree.aggregators.front();
    pipeline.formats = formats;
    pipeline.reductions = reductions;
    pipeline.is_big_endian = std::exchange(is_big_endian, !is_big_endian);
  }
  for (CallPlan& call : scenario.calls) {
    if (!reductions.has(call.reduction)) call.reduction = Reduction::max;
  }
}

}  // namespace infold::sim
