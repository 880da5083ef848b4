// SPDX-License-Identifier: Apache-2.0
//
// The Python objects are called on the thread that begins the group's calls, under the
// interpreter's lock.
#include "python/backend/compressed/python_method.h"

#include <limits>
#include <memory>
#include <stdexcept>
#include <utility>
#include <vector>

#include <ATen/ATen.h>
#include <infold/compressor.h>
#include <pybind11/stl.h>
#include <torch/csrc/utils/pybind.h>

#include "compress/counter_random.h"
#include "python/backend/compressed/tensor_list.h"
#include "python/backend/names.h"

namespace py = pybind11;

namespace infold::pytorch {
namespace {

constexpr Names<compress::Bias, 5> kBiases = {{{"none", compress::Bias::none},
                                               {"unbiased", compress::Bias::unbiased},
                                               {"contractive", compress::Bias::contractive},
                                               {"direction", compress::Bias::direction},
                                               {"unknown", compress::Bias::unknown}}};

// An object's last owner may be a thread that does not hold the interpreter's lock.
std::shared_ptr<py::object> shared_object(py::object object) {
  return {new py::object(std::move(object)), [](py::object* each) {
            if (Py_IsInitialized() == 0) return;  // the interpreter has freed it
            const py::gil_scoped_acquire acquired;
            delete each;
          }};
}

// Turns exceptions of Python code into text, because the interpreter may end before the exceptions
// do.
template <typename Action>
auto in_python(const char* name, const Action& action) {
  const py::gil_scoped_acquire acquired;
  try {
    return action();
  } catch (const py::error_already_set& error) {
    throw std::runtime_error(std::string("infold: ") + name + ": " + error.what());
  }
}

// A torch.Generator takes a signed number, so the seed has 63 bits.
std::uint64_t seed_of(const compress::Turn& turn) {
  return compress::CounterRandom::own(turn, 0).key() >> 1;
}

std::vector<std::int64_t> sides_of(const compress::Shape& shape) {
  if (shape.sides.empty()) return {static_cast<std::int64_t>(shape.elements)};
  return {shape.sides.begin(), shape.sides.end()};
}

at::Tensor copy_of(std::span<const float> values, const std::vector<std::int64_t>& sides) {
  const at::Tensor tensor = at::empty(sides, at::kFloat);
  std::copy(values.begin(), values.end(), tensor.data_ptr<float>());
  return tensor;
}

class PythonCompressor final : public compress::GatheredCompressor {
 public:
  PythonCompressor(std::shared_ptr<py::object> object, const compress::Shape& shape)
      : object_(std::move(object)),
        sides_(sides_of(shape)),
        has_memory_(object_->attr("has_memory").cast<bool>()) {}

  void commit() override { std::swap(state_, next_state_); }
  std::vector<compress::Kept> kept() override {
    if (!has_memory_) return {};
    return {{.name = "own memory", .values = &state_, .is_of_any_size = true}};
  }

 private:
  void encode(std::span<const float> tensor, const compress::Turn& turn,
              std::vector<std::byte>& code) override {
    in_python("compress", [&] {
      const py::tuple made =
          object_->attr("encode")(copy_of(tensor, sides_), seed_of(turn),
                                  copy_of(state_, {static_cast<std::int64_t>(state_.size())}));
      append_tensors(made[0].cast<std::vector<at::Tensor>>(), code);
      const auto state = made[1].cast<at::Tensor>();
      const auto* const first = state.const_data_ptr<float>();
      next_state_.assign(first, first + state.numel());
    });
  }

  bool add(std::span<const std::byte> code, std::span<double> sums) const override {
    const auto tensors = read_tensors(code);
    if (!tensors) return false;
    return in_python("decompress", [&] {
      const auto values = object_->attr("decode")(*tensors).cast<at::Tensor>();
      if (values.numel() != static_cast<std::int64_t>(sums.size())) {
        throw std::runtime_error("infold: decompress gave " + std::to_string(values.numel()) +
                                 " elements for a gradient of " + std::to_string(sums.size()));
      }
      const at::Tensor plain = values.to(at::kCPU, at::kFloat).contiguous();
      const float* const first = plain.const_data_ptr<float>();
      for (std::size_t i = 0; i < sums.size(); ++i) sums[i] += double{first[i]};
      return true;
    });
  }

  const std::shared_ptr<py::object> object_;
  const std::vector<std::int64_t> sides_;
  // What a memory in Python remembers, in its own form: after the last step, and after the step
  // that is being made.
  const bool has_memory_;
  std::vector<float> state_;
  std::vector<float> next_state_;
};

std::vector<compress::Setting> settings_of(const py::dict& given) {
  std::vector<compress::Setting> settings;
  for (const auto& [name, value] : given) {
    settings.push_back({.name = name.cast<std::string>(),
                        .usual = value.cast<double>(),
                        .least = std::numeric_limits<double>::lowest(),
                        .most = std::numeric_limits<double>::max(),
                        .is_whole = py::isinstance<py::int_>(value),
                        .meaning = "of a method in Python"});
  }
  return settings;
}

}  // namespace

void add_python_method(const std::string& name, const std::string& bias, const py::dict& settings,
                       py::object make) {
  compress::Method method;
  method.name = name;
  method.summary = "a method in Python";
  method.bias = value_of(kBiases, bias, "bias");
  method.settings = settings_of(settings);
  method.make = [names = method.settings, make = shared_object(std::move(make))](
                    const compress::Shape& shape, const compress::Settings& values) {
    return in_python("make", [&]() -> std::unique_ptr<compress::Compressor> {
      py::dict arguments;
      for (const compress::Setting& each : names) arguments[each.name.c_str()] = values[each.name];
      return std::make_unique<PythonCompressor>(shared_object((*make)(shape.sides, arguments)),
                                                shape);
    });
  };
  if (const Result<void> added = compress::add_method(std::move(method)); !added) {
    throw py::value_error("infold: " + added.error().message);
  }
}

}  // namespace infold::pytorch
