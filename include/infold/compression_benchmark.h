// SPDX-License-Identifier: Apache-2.0
//
// Measures what a compression method or a wire format costs one rank, and what its error is,
// without a network. Methods are the built-in ones and those that a program has added
// (compressor.h). `infold bench codec` uses these functions.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include <infold/compression.h>
#include <infold/options.h>
#include <infold/result.h>

namespace infold {

struct CodecSpeedOptions {
  std::size_t elements = 25'000'000;
  // The tensor to measure with instead of one of `elements` elements that is drawn with heavy
  // tails: a normal number times the exponential of a normal.
  std::span<const float> gradient = {};
  int world = 8;
  double seconds = 1;  // how long the step is repeated; at least 3 times
};

// Medians over steps on one thread, in processor time. GB/s count the tensor's 4 bytes per element.
struct CodecSpeed {
  double copy_gbps = 0;  // memcpy of the tensor, measured beside each step
  double encode_gbps = 0;
  double decode_gbps = 0;   // from all ranks' codes to the mean
  double encode_ratio = 0;  // relative to the memcpy beside it
  double decode_ratio = 0;
  // Bits per element, without packet headers.
  double bits_sent = 0;
  double bits_received = 0;
  std::optional<double> bits_of_formula;  // bits sent, by the method's own formula
};

// The memory does not take part. The codes of other ranks are copies of this rank's. Methods of
// matrices see one that is as square as the number of elements allows.
Result<CodecSpeed> measure_codec_speed(const CompressionOptions& options,
                                       const CodecSpeedOptions& how = {});
// The same for a block format of packets (bfp32, bfp16 or bfp8): encodes the tensor and decodes one
// sum, as a rank does. Other formats are refused.
Result<CodecSpeed> measure_format_speed(WireFormat wire, const CodecSpeedOptions& how = {});

// Returns the squared error of the mean after one step without a memory, relative to the square of
// the mean. Each rank has one of the gradients, which all have the same size.
Result<double> measure_codec_error(const CompressionOptions& options,
                                   std::span<const std::vector<float>> gradients);

// The same for a sum in a wire format, by ranks and an aggregator in this process.
Result<double> measure_format_error(WireFormat wire, std::span<const std::vector<float>> gradients);

// Returns one rank's gradient, which has heavy tails. Half of it, by weight, is common to all
// ranks.
std::vector<float> heavy_tailed_gradient(std::size_t elements, std::uint64_t seed, int rank);

}  // namespace infold
