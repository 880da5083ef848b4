// SPDX-License-Identifier: Apache-2.0
//
// Measurements of compression methods for Python: speed and bits at one rank, and the error of a
// mean.
#pragma once

#include <vector>

#include <infold/compression_benchmark.h>
#include <torch/csrc/utils/pybind.h>

namespace infold::pytorch {

// Both throw std::invalid_argument.
pybind11::dict measure_speed(const CompressionOptions& options, const CodecSpeedOptions& how);
// Each gradient belongs to one rank.
double measure_error(const CompressionOptions& options, const std::vector<at::Tensor>& gradients);

}  // namespace infold::pytorch
