// SPDX-License-Identifier: Apache-2.0
//
// The base of quantisers that have a code of at most 8 bits for each element, and a codebook for
// each bucket of elements. The codebook says what each code stands for. Each rank makes it from the
// head of the bucket, which is a few f32.
//
// A tensor's code has the heads of all buckets, then the packed codes of all elements.
//
// A bucket with a NaN or an infinity gets a head of NaNs, and becomes NaN. If a rank's head has an
// infinity, its code is refused.
#pragma once

#include <cstdint>

#include <infold/compressor.h>

#include "compress/counter_random.h"
#include "compress/method.h"

namespace infold::compress {

class CodebookCompressor : public GatheredCompressor {
 public:
  struct Options {
    std::size_t elements = 0;
    std::size_t bucket = 0;  // elements of a bucket; 0: the whole tensor is one
    std::size_t head_floats = 1;
    std::uint32_t alphabet = 2;  // number of codes; 2 to 256
  };
  explicit CodebookCompressor(const Options& options);

 protected:
  // A bucket of this rank's tensor. All its values are finite.
  struct Bucket {
    std::span<const float> values;
    std::size_t first = 0;  // the index of its first element
    CounterRandom random;

    float uniform(std::size_t i) const { return random.uniform(first + i); }
  };

  // Writes the head, and a code below `alphabet` for each value.
  virtual void encode_bucket(const Bucket& bucket, std::span<float> head,
                             std::span<std::uint8_t> codes) const = 0;
  // Writes what each code of the alphabet stands for. Returns false if no rank would make such a
  // head. Requires: all numbers of the head are finite.
  virtual bool read_head(std::span<const float> head, std::span<double> codebook) const = 0;

  std::uint32_t alphabet() const { return options_.alphabet; }

 private:
  void encode(std::span<const float> tensor, const Turn& turn, std::vector<std::byte>& code) final;
  bool add(std::span<const std::byte> code, std::span<double> sums) const final;
  std::size_t code_bytes_max() const final;  // the length of every code
  bool make_codebook(std::span<const float> head, std::span<double> codebook) const;
  std::size_t buckets() const;
  std::size_t size_of(std::size_t bucket) const;

  Options options_;
  std::vector<std::uint8_t> codes_;  // this rank's codes
};

// How many bits a tensor's code has.
double codebook_bits(const CodebookCompressor::Options& options);

// The common setting `bucket`, and its value for a tensor, which is at most the number of elements.
Setting bucket_setting(double usual);
double bucket_of(const Shape& shape, const Settings& settings);

}  // namespace infold::compress
