// SPDX-License-Identifier: Apache-2.0
#include "python/backend/compressed/bindings.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <ATen/ATen.h>
#include <torch/csrc/utils/pybind.h>

#include "python/backend/compressed/compressor.h"
#include "python/backend/compressed/measure.h"
#include "python/backend/compressed/python_method.h"

namespace py = pybind11;

namespace infold::pytorch {
namespace {

using Entries = std::vector<std::tuple<std::string, std::string, at::Tensor>>;
using Shapes = std::vector<std::pair<std::string, std::vector<std::size_t>>>;

CompressionOptions::Settings settings_of(const py::dict& given) {
  CompressionOptions::Settings settings;
  for (const auto& [name, value] : given) {
    settings.emplace_back(name.cast<std::string>(), value.cast<double>());
  }
  return settings;
}

// None means no steering. A wrong name or type raises a ValueError that lists the right ones.
std::optional<SteeringOptions> steering_of(const py::object& given) {
  if (given.is_none()) return std::nullopt;
  SteeringOptions options;
  for (const auto& [key, value] : given.cast<py::dict>()) {
    const auto name = key.cast<std::string>();
    try {
      if (name == "setting") {
        options.setting = value.cast<std::string>();
      } else if (name == "cheapest") {
        options.cheapest = value.cast<double>();
      } else if (name == "finest") {
        options.finest = value.cast<double>();
      } else if (name == "may_skip") {
        options.may_skip = value.cast<bool>();
      } else if (name == "tolerance") {
        options.tolerance = value.cast<double>();
      } else {
        throw py::value_error("infold: steering has no option '" + name +
                              "'; it has: setting, cheapest, finest, may_skip, tolerance");
      }
    } catch (const py::cast_error&) {
      throw py::value_error("infold: steering: " + name + " is " +
                            py::repr(value).cast<std::string>() + ", which has the wrong type");
    }
  }
  return options;
}

std::shared_ptr<Compressor> make_compressor(const std::string& method, const py::dict& settings,
                                            const std::string& memory,
                                            const py::dict& memory_settings, std::uint64_t seed,
                                            const py::object& steering) {
  const CompressionOptions options = {.method = method,
                                      .settings = settings_of(settings),
                                      .memory = memory,
                                      .memory_settings = settings_of(memory_settings),
                                      .seed = seed,
                                      .steering = steering_of(steering)};
  return std::make_shared<Compressor>(options);
}

py::tuple state_of(Compressor& compressor) {
  CompressionState state;
  Entries entries;
  {
    const py::gil_scoped_release released;
    state = compressor.state();
    for (const CompressionState::Entry& each : state.entries) {
      const auto elements = static_cast<std::int64_t>(each.values.size());
      const at::Tensor values = at::empty({elements}, at::kFloat);
      std::copy(each.values.begin(), each.values.end(), values.data_ptr<float>());
      entries.emplace_back(each.parameter, each.what, values);
    }
  }
  return py::make_tuple(state.choice, state.rank, state.world, entries);
}

void load(Compressor& compressor, const std::string& choice, int rank, int world,
          const Entries& entries, int own_rank, int own_world, const Shapes& parameters) {
  const py::gil_scoped_release released;
  CompressionState state{.rank = rank, .world = world, .choice = choice, .entries = {}};
  for (const auto& [parameter, what, values] : entries) {
    const at::Tensor plain = values.to(at::kCPU, at::kFloat).contiguous();
    const auto* const first = plain.data_ptr<float>();
    state.entries.push_back({parameter, what, {first, first + plain.numel()}});
  }
  std::vector<ParameterShape> shapes;
  for (const auto& [name, sides] : parameters) shapes.push_back({name, sides});
  compressor.load(state, own_rank, own_world, shapes);
}

py::dict statistics_of(Compressor& compressor) {
  CompressionStatistics now;
  {
    const py::gil_scoped_release released;
    now = compressor.statistics();
  }
  py::dict counts;
  counts["calls"] = now.calls;
  counts["bytes_before"] = now.bytes_before;
  counts["bytes_sent"] = now.bytes_sent;
  counts["bytes_received"] = now.bytes_received;
  counts["fallbacks"] = now.fallbacks;
  return counts;
}

py::list steered_calls_of(Compressor& compressor) {
  std::vector<SteeredCall> now;
  {
    const py::gil_scoped_release released;
    now = compressor.steered_calls();
  }
  py::list calls;
  for (const SteeredCall& each : now) {
    py::dict call;
    call["first_parameter"] = each.first_parameter;
    call["parameters"] = each.parameters;
    call["is_compressed"] = each.is_compressed;
    call["value"] = each.value;
    call["kept"] = each.kept;
    calls.append(call);
  }
  return calls;
}

}  // namespace

void bind_compressor(py::module_& module) {
  py::class_<Compressor, std::shared_ptr<Compressor>>(module, "Compressor")
      .def(py::init(&make_compressor), py::arg("method"), py::arg("settings"), py::arg("memory"),
           py::arg("memory_settings"), py::arg("seed"), py::arg("steering") = py::none())
      .def("choice", &Compressor::choice, py::call_guard<py::gil_scoped_release>())
      .def("set_rate", &Compressor::set_rate, py::arg("rate"),
           py::call_guard<py::gil_scoped_release>())
      .def("state", &state_of)
      .def("load", &load, py::arg("choice"), py::arg("rank"), py::arg("world"), py::arg("entries"),
           py::arg("own_rank"), py::arg("own_world"), py::arg("parameters") = Shapes())
      .def("statistics", &statistics_of)
      .def("steered_calls", &steered_calls_of);
  module.def(
      "measure_speed",
      [](const std::string& method, const py::dict& settings, std::size_t elements, int world,
         double seconds) {
        return measure_speed({.method = method, .settings = settings_of(settings)},
                             {.elements = elements, .world = world, .seconds = seconds});
      },
      py::arg("method"), py::arg("settings"), py::arg("elements"), py::arg("world"),
      py::arg("seconds"));
  module.def(
      "measure_error",
      [](const std::string& method, const py::dict& settings,
         const std::vector<at::Tensor>& gradients) {
        return measure_error({.method = method, .settings = settings_of(settings)}, gradients);
      },
      py::arg("method"), py::arg("settings"), py::arg("gradients"));
  module.def("add_method", &add_python_method, py::arg("name"), py::arg("bias"),
             py::arg("settings"), py::arg("make"));
}

}  // namespace infold::pytorch
