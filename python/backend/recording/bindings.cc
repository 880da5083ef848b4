// SPDX-License-Identifier: Apache-2.0
#include "python/backend/recording/bindings.h"

#include <map>
#include <optional>
#include <stdexcept>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <pybind11/stl.h>

#include "python/backend/recording/recorder.h"
#include "trace/trace_file.h"

namespace infold::pytorch {
namespace {

using Operator = std::tuple<std::string, std::int64_t, std::int64_t>;  // name, begin, end

void end_recording(const std::string& path, std::uint64_t rank, std::uint64_t world,
                   std::map<std::string, std::vector<std::int64_t>> groups,
                   const std::vector<Operator>& operators) {
  std::optional<trace::Recording> notes = Recorder::of_process().end();
  if (!notes) throw std::runtime_error("infold: no recording is on");
  notes->rank = rank;
  notes->world = world;
  notes->groups = std::move(groups);
  for (const auto& [name, begin_ns, end_ns] : operators) {
    notes->operators.push_back({name, begin_ns, end_ns});
  }
  const auto written = trace::write(trace::trace_of(*notes), path);
  if (!written) throw std::runtime_error("infold: the trace was not written: " + written.error());
}

}  // namespace

void bind_recorder(pybind11::module_& module) {
  namespace py = pybind11;
  module.def("begin_recording", [] { return Recorder::of_process().begin(); });
  module.def("end_recorded_step", [] { Recorder::of_process().end_step(); });
  module.def("stop_recording", [] { Recorder::of_process().stop(); });
  module.def("drop_recording", [] { Recorder::of_process().drop(); });
  module.def("end_recording", &end_recording, py::arg("path"), py::arg("rank"), py::arg("world"),
             py::arg("groups"), py::arg("operators"), py::call_guard<py::gil_scoped_release>());
}

}  // namespace infold::pytorch
