// SPDX-License-Identifier: Apache-2.0
//
// What all quantisers share that have a code of at most 8 bits for each element, and a codebook for
// each bucket of elements. The head of a bucket is a few f32, from which each rank makes the
// codebook: what each code stands for.
//
// Code: the heads of all buckets, then the packed codes of all elements.
//
// A bucket with a NaN or an infinity has a head of NaN, and becomes NaN. A peer's head with an
// infinity is refused.
#pragma once

#include <cstdint>

#include <infold/compressor.h>

#include "codec/compress/counter_random.h"
#include "codec/compress/method.h"

namespace infold::codec {

class CodebookCompressor : public GatheredCompressor {
 public:
  struct Options {
    std::size_t elements = 0;
    std::size_t bucket = 0;  // elements; 0: all elements are one bucket
    std::size_t head_floats = 1;
    std::uint32_t alphabet = 2;  // codes; 2 to 256
  };
  explicit CodebookCompressor(const Options& options);

 protected:
  // A bucket of this rank. All values are finite.
  struct Bucket {
    std::span<const float> values;
    std::size_t first = 0;  // the index of its first element
    CounterRandom random;

    float uniform(std::size_t i) const { return random.uniform(first + i); }
  };

  // Writes the head, and a code below `alphabet` for each value.
  virtual void encode_bucket(const Bucket& bucket, std::span<float> head,
                             std::span<std::uint8_t> codes) const = 0;
  // Writes what each code of the alphabet stands for. False: no rank makes such a head. The head
  // has no NaN and no infinity.
  virtual bool read_head(std::span<const float> head, std::span<double> codebook) const = 0;

  std::uint32_t alphabet() const { return options_.alphabet; }

 private:
  void encode(std::span<const float> tensor, const Turn& turn, std::vector<std::byte>& code) final;
  bool add(std::span<const std::byte> code, std::span<double> sums) const final;
  bool make_codebook(std::span<const float> head, std::span<double> codebook) const;
  std::size_t buckets() const;
  std::size_t size_of(std::size_t bucket) const;

  Options options_;
  std::vector<std::uint8_t> codes_;  // this rank's
};

// The bits of a tensor's code.
double codebook_bits(const CodebookCompressor::Options& options);

// The usual setting `bucket`, and its value for a tensor: not more than its elements.
Setting bucket_setting(double usual);
double bucket_of(const Shape& shape, const Settings& settings);

}  // namespace infold::codec
