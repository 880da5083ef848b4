// SPDX-License-Identifier: Apache-2.0
#include "python/backend/compressed/measure.h"

#include <stdexcept>

#include <ATen/ATen.h>

namespace py = pybind11;

namespace infold::pytorch {
namespace {

template <typename Value>
Value value_or_throw(Result<Value> result) {
  if (!result) throw std::invalid_argument("infold: " + result.error().message);
  return *std::move(result);
}

}  // namespace

py::dict measure_speed(const CompressionOptions& options, const CodecSpeedOptions& how) {
  CodecSpeed speed;
  {
    const py::gil_scoped_release released;
    speed = value_or_throw(measure_codec_speed(options, how));
  }
  py::dict found;
  found["copy_gbps"] = speed.copy_gbps;
  found["encode_gbps"] = speed.encode_gbps;
  found["decode_gbps"] = speed.decode_gbps;
  found["encode_ratio"] = speed.encode_ratio;
  found["decode_ratio"] = speed.decode_ratio;
  found["bits_sent"] = speed.bits_sent;
  found["bits_received"] = speed.bits_received;
  return found;
}

double measure_error(const CompressionOptions& options, const std::vector<at::Tensor>& gradients) {
  const py::gil_scoped_release released;
  std::vector<std::vector<float>> plain;
  for (const at::Tensor& each : gradients) {
    const at::Tensor values = each.detach().to(at::kCPU, at::kFloat).contiguous();
    const auto* const first = values.const_data_ptr<float>();
    plain.emplace_back(first, first + values.numel());
  }
  return value_or_throw(measure_codec_error(options, plain));
}

}  // namespace infold::pytorch
