// SPDX-License-Identifier: Apache-2.0
//
// The method `scaledsign` (EF-SignSGD 2019, with one scale for all ranks): in the first leg, ranks
// agree on the mean magnitude of each bucket over all ranks. In the second leg, ranks vote on
// signs, and aggregators count the votes.
//
//   mean = scale * (votes for plus - votes for minus) / ranks
//
// A rank that abstains has sent 0, so the result is the mean of what all ranks sent, and a residual
// loses nothing. Taken over all ranks, the error is smaller than the tensors: the sum of |x - scale
// * sgn(x)|^2 is the sum of |x|^2 less ranks * elements * scale^2. A single rank's error may be
// larger than its tensor if that is much smaller than the others' tensors.
//
// A bucket with a NaN or an infinity at any rank becomes NaN at all ranks.
#include <algorithm>
#include <cmath>
#include <limits>

#include "compress/agreed_scales.h"
#include "compress/magnitudes.h"
#include "compress/methods/methods.h"
#include "compress/pieces.h"
#include "compress/votes/sign_votes.h"

namespace infold::compress {
namespace {

// A bucket of 0 elements stands for the whole tensor.
std::size_t bucket_of(std::size_t elements, std::size_t bucket) {
  return bucket == 0 ? std::max<std::size_t>(1, elements) : bucket;
}

class ScaledSign final : public AgreedScalesCompressor {
 public:
  ScaledSign(std::size_t elements, std::size_t bucket, bool abstains)
      : AgreedScalesCompressor(Travel::floats, (elements + bucket - 1) / bucket),
        bucket_(bucket),
        votes_(abstains) {}

  void write_mean(std::span<float> mean) override {
    votes_.write_balances(sums(), {bucket_, scales(), static_cast<double>(turn().world)}, mean);
  }
  void write_sent(std::span<float> sent) const override {
    votes_.write_own({bucket_, scales()}, sent);
  }

 private:
  void measure(std::span<float> scales) override {
    for_each_piece(0, tensor().size(), bucket_, [&](auto bucket, auto first, auto size) {
      scales[bucket] = mean_magnitude(tensor().subspan(first, size));
    });
  }
  std::span<const std::uint32_t> encode() override {
    votes_.cast(tensor(), turn());
    return votes_.lanes();
  }

  static float mean_magnitude(std::span<const float> values) {
    const double sum = sum_magnitudes(values).sum;
    if (!std::isfinite(sum)) return std::numeric_limits<float>::quiet_NaN();
    return static_cast<float>(sum / static_cast<double>(values.size()));
  }

  std::size_t bucket_;
  SignVotes votes_;
};

double formula_bits(const Shape& shape, const Settings& settings, std::uint32_t world) {
  const double bucket = settings["bucket"];
  const double buckets = bucket == 0 ? 1 : std::ceil(static_cast<double>(shape.elements) / bucket);
  return vote_bits(shape, settings, world) + 32 * buckets;
}

}  // namespace

Method scaled_sign_method() {
  return {.name = "scaledsign",
          .summary = "signs that the network counts, under a mean magnitude that ranks agree on",
          .bias = Bias::contractive,
          .settings = {{.name = "bucket",
                        .usual = 0,
                        .least = 0,
                        .most = 1 << 24,
                        .is_whole = true,
                        .meaning = "elements that share a scale; 0: all of the tensor"},
                       abstain_setting()},
          .formula_bits = formula_bits,
          .make = [](const Shape& shape, const Settings& settings) -> std::unique_ptr<Compressor> {
            const auto bucket = static_cast<std::size_t>(settings["bucket"]);
            return std::make_unique<ScaledSign>(shape.elements, bucket_of(shape.elements, bucket),
                                                settings["abstain"] == 1);
          }};
}

}  // namespace infold::compress
