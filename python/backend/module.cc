// SPDX-License-Identifier: Apache-2.0
//
// The extension module infold._c. Its types and names are in python/infold/_c.pyi.

#include <chrono>
#include <optional>
#include <string>
#include <utility>

#include <pybind11/chrono.h>
#include <torch/csrc/utils/pybind.h>
#include <torch/version.h>

#include "python/backend/backend.h"
#include "python/backend/compressed/bindings.h"
#include "python/backend/living.h"
#include "python/backend/names.h"
#include "python/backend/recording/bindings.h"

namespace py = pybind11;

namespace infold::pytorch {
namespace {

constexpr Names<WireFormat, 7> kWires = {{{"automatic", WireFormat::automatic},
                                          {"native", WireFormat::native},
                                          {"digits", WireFormat::digits},
                                          {"bfp32", WireFormat::bfp32},
                                          {"bfp16", WireFormat::bfp16},
                                          {"bfp8", WireFormat::bfp8},
                                          {"fixed32", WireFormat::fixed32}}};
constexpr Names<Sites, 4> kSites = {{{"automatic", Sites::automatic},
                                     {"switches", Sites::switches},
                                     {"workers", Sites::workers},
                                     {"mixed", Sites::mixed}}};
constexpr Names<SharedMemory, 3> kSharedMemory = {{{"auto", SharedMemory::automatic},
                                                   {"off", SharedMemory::off},
                                                   {"always", SharedMemory::always}}};
constexpr Names<Layout, 3> kLayouts = {
    {{"dense", Layout::dense}, {"blocks", Layout::blocks}, {"automatic", Layout::automatic}}};

JoinOptions join_options_of(const py::dict& given) {
  JoinOptions join;
  join.use_environment = false;  // options.py uses it
  join.job = given["job"].cast<std::string>();
  join.switches = given["switches"].cast<std::vector<std::string>>();
  join.rendezvous = given["rendezvous"].cast<std::string>();
  join.sites = value_of(kSites, given["sites"].cast<std::string>(), "sites");
  join.wire = value_of(kWires, given["wire"].cast<std::string>(), "wire");
  join.shared_memory =
      value_of(kSharedMemory, given["shared_memory"].cast<std::string>(), "shared_memory");
  join.address = given["address"].cast<std::string>();
  join.mtu_bytes = given["mtu_bytes"].cast<int>();
  join.drivers = given["drivers"].cast<int>();
  join.switch_weight = given["switch_weight"].cast<int>();
  join.worker_weight = given["worker_weight"].cast<int>();
  join.verify = given["verify"].cast<bool>();
  join.rejoin = given["rejoin"].cast<bool>();
  return join;
}

// Begins a split group in the same way as a new group.
Beginning begin_in_python(const c10::intrusive_ptr<::c10d::Store>& store, int rank, int size,
                          std::chrono::milliseconds timeout) {
  const py::gil_scoped_acquire acquired;
  const py::tuple made =
      py::module_::import("infold._registration").attr("begin")(store, rank, size, timeout);
  return {made[0].cast<c10::intrusive_ptr<::c10d::Store>>(),
          made[1].cast<c10::intrusive_ptr<::c10d::Backend>>()};
}

c10::intrusive_ptr<Backend> make_backend(const c10::intrusive_ptr<::c10d::Store>& store, int rank,
                                         int size, std::chrono::milliseconds timeout,
                                         const c10::intrusive_ptr<::c10d::Backend>& delegate,
                                         const py::dict& options) {
  const BackendOptions all = {join_options_of(options), timeout,
                              value_of(kLayouts, options["layout"].cast<std::string>(), "layout"),
                              &begin_in_python, options["token"].cast<std::string>()};
  const py::gil_scoped_release released;
  return c10::make_intrusive<Backend>(store, rank, size, all, delegate);
}

py::object statistics_of(const Backend& backend) {
  std::optional<Statistics> now;
  std::string interface;
  {
    const py::gil_scoped_release released;
    now = backend.statistics();
    interface = backend.interface();
  }
  if (!now) return py::none();
  py::dict counts;
  counts["calls"] = now->calls;
  counts["calls_sparse"] = now->calls_sparse;
  counts["packets_sent"] = now->packets_sent;
  counts["packets_resent"] = now->packets_resent;
  counts["packets_received"] = now->packets_received;
  counts["ranks_in_memory"] = now->ranks_in_memory;
  counts["contributions_on_network"] = now->contributions_on_network;
  counts["interface"] = interface;
  return counts;
}

}  // namespace
}  // namespace infold::pytorch

PYBIND11_MODULE(_c, module) {
  using namespace infold::pytorch;
  // Importing this module binds the base classes.
  py::module_::import("torch.distributed");
  module.attr("TORCH_VERSION") = TORCH_VERSION;
  module.attr("WIRES") = names_of(kWires);
  module.attr("SITES") = names_of(kSites);
  module.attr("SHARED_MEMORY") = names_of(kSharedMemory);
  module.attr("LAYOUTS") = names_of(kLayouts);

  bind_compressor(module);
  bind_recorder(module);
  py::class_<Backend, c10::intrusive_ptr<Backend>, ::c10d::Backend>(module, "Backend")
      .def(py::init(&make_backend), py::arg("store"), py::arg("rank"), py::arg("size"),
           py::arg("timeout"), py::arg("delegate"), py::arg("options"))
      .def(
          "all_reduce_as",
          [](Backend& backend, at::Tensor tensor, const std::string& wire, bool average,
             const std::optional<std::string>& layout) {
            Backend::Tensors tensors = {std::move(tensor)};
            ::c10d::AllreduceOptions options;
            options.reduceOp = average ? ::c10d::ReduceOp::AVG : ::c10d::ReduceOp::SUM;
            Travel travel = {value_of(kWires, wire, "wire")};
            if (layout) travel.layout = value_of(kLayouts, *layout, "layout");
            const py::gil_scoped_release released;
            return backend.allreduce_as(tensors, options, travel);
          },
          py::arg("tensor"), py::arg("wire") = "automatic", py::arg("average") = false,
          py::arg("layout") = py::none())
      .def(
          "average_compressed",
          [](Backend& backend, const std::shared_ptr<Compressor>& compressor,
             std::vector<std::string> names, Backend::Tensors gradients,
             std::chrono::milliseconds timeout, std::chrono::microseconds hidden) {
            const py::gil_scoped_release released;
            return backend.average_compressed(compressor, std::move(names), gradients, timeout,
                                              hidden);
          },
          py::arg("compressor"), py::arg("names"), py::arg("gradients"),
          py::arg("timeout") = kNoTimeout, py::arg("hidden") = std::chrono::microseconds(0))
      .def("statistics", &statistics_of)
      // Torch itself binds this only for its own backends.
      .def("get_error", &Backend::getError, py::call_guard<py::gil_scoped_release>())
      // Torch calls this at ranks outside a new group, which do not take part in a split.
      .def("perform_nocolor_split", [](Backend&, const py::object&) {})
      .def_property_readonly("delegate", &Backend::delegate);

  module.def("close_all", [] {
    const py::gil_scoped_release released;
    Living::all().close();
  });
}
