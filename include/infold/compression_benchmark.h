// SPDX-License-Identifier: Apache-2.0
//
// Measures what a compression method costs one rank, and what its error is, without a network. It
// takes built-in methods and those that a program has added (compressor.h). `infold bench codec`
// uses these functions.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include <infold/compression.h>
#include <infold/result.h>

namespace infold {

struct CodecSpeedOptions {
  std::size_t elements = 25'000'000;
  int world = 8;
  double seconds = 1;  // the step is repeated for so long, and at least 3 times
};

// Medians of steps on one thread, in processor time. GB/s are of the tensor, 4 bytes an element.
struct CodecSpeed {
  double copy_gbps = 0;  // of memcpy of the tensor, beside each step
  double encode_gbps = 0;
  double decode_gbps = 0;   // from all ranks' codes to the mean
  double encode_ratio = 0;  // to the memcpy beside it
  double decode_ratio = 0;
  // Bits of an element's codes, without headers of packets.
  double bits_sent = 0;
  double bits_received = 0;
  std::optional<double> bits_of_formula;  // that are sent, as the method says of itself
};

// The tensor has heavy tails: a normal number times the exponential of a normal. The memory does
// not take part. Answers of other ranks are like this rank's codes.
Result<CodecSpeed> measure_codec_speed(const CompressionOptions& options,
                                       const CodecSpeedOptions& how = {});

// The squared error of the mean after one step without a memory, as a part of the mean's square.
// Each rank has one of the gradients. They have one size.
Result<double> measure_codec_error(const CompressionOptions& options,
                                   std::span<const std::vector<float>> gradients);

// One rank's gradient with heavy tails. Half of it, by its weight, is common to all ranks.
std::vector<float> heavy_tailed_gradient(std::size_t elements, std::uint64_t seed, int rank);

}  // namespace infold
