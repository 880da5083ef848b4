// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <cstring>
#include <ctime>

#include <infold/compression_benchmark.h>

#include "base/prng.h"
#include "codec/compress/choice.h"
#include "codec/compress/normal.h"
#include "codec/compress/round_table.h"

namespace infold {
namespace {

using codec::Answer;
using codec::Leg;
using codec::Travel;

tl::unexpected<Error> refuse(std::string message) {
  return tl::unexpected(Error{Code::invalid_argument, std::move(message), -1, ""});
}

double thread_s() {
  timespec time = {};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

double median(std::vector<double> samples) {
  const auto middle = samples.begin() + static_cast<std::ptrdiff_t>(samples.size() / 2);
  std::nth_element(samples.begin(), middle, samples.end());
  return *middle;
}

double draw_heavy(base::Prng& prng) {
  const double normal = codec::draw_normal(prng);
  return normal * std::exp(codec::draw_normal(prng));
}

// Called through a pointer that may change. Else compilers drop a copy whose target is not read.
void* (*volatile copy_bytes)(void*, const void*, std::size_t) = std::memcpy;

Result<codec::CompressionChoice> choose(const CompressionOptions& options) {
  return codec::CompressionChoice::make({options.method, options.settings, "none", {}});
}

// Drawing takes longer than most methods, so a large tensor repeats itself.
std::vector<float> repeated_gradient(std::size_t elements) {
  const std::vector<float> drawn =
      heavy_tailed_gradient(std::min<std::size_t>(elements, std::size_t{1} << 20), 1, 0);
  std::vector<float> tensor(elements);
  for (std::size_t i = 0; i < elements; ++i) tensor[i] = drawn[i % drawn.size()];
  return tensor;
}

// A rank whose peers send what it sends.
class OneRank {
 public:
  OneRank(codec::Compressor& compressor, std::span<const float> tensor, std::uint32_t world)
      : compressor_(compressor), tensor_(tensor), mean_(tensor.size()), world_(world) {}

  struct Times {
    double encode_s = 0;
    double decode_s = 0;
  };

  Times step(std::uint64_t step) {
    Times times;
    sent_ = received_ = 0;
    double start = thread_s();
    std::optional<Leg> leg =
        compressor_.begin(tensor_, {.seed = 1, .step = step, .parameter = 1, .world = world_});
    times.encode_s += thread_s() - start;
    while (leg) {
      const Answer answer = answer_to(*leg);
      start = thread_s();
      leg = compressor_.next(answer);
      (leg ? times.encode_s : times.decode_s) += thread_s() - start;
    }
    start = thread_s();
    compressor_.write_mean(mean_);
    times.decode_s += thread_s() - start;
    compressor_.commit();
    return times;
  }
  double copy_s() {
    const double start = thread_s();
    copy_bytes(mean_.data(), tensor_.data(), tensor_.size_bytes());
    return thread_s() - start;
  }

  double bits_sent() const { return bits_of(sent_); }
  double bits_received() const { return bits_of(received_); }

 private:
  double bits_of(std::size_t bytes) const {
    return 8 * static_cast<double>(bytes) / static_cast<double>(tensor_.size());
  }

  Answer answer_to(const Leg& leg) {
    sent_ += leg.sent.size() + leg.indices.size_bytes();
    if (leg.travel == Travel::gather) {
      received_ += leg.sent.size() * (world_ - 1);
      kept_.assign(leg.sent.begin(), leg.sent.end());
      gathered_.assign(world_, kept_);
      return {.reduced = {}, .gathered = gathered_};
    }
    received_ += leg.sent.size();
    if (leg.travel != Travel::rows) {
      kept_.assign(leg.sent.begin(), leg.sent.end());
      return {.reduced = kept_, .gathered = {}};
    }
    kept_.assign(leg.elements * sizeof(float), std::byte{0});
    for (std::size_t i = 0; i < leg.indices.size(); ++i) {
      std::memcpy(kept_.data() + leg.indices[i] * sizeof(float),
                  leg.sent.data() + i * sizeof(float), sizeof(float));
    }
    return {.reduced = kept_, .gathered = {}};
  }

  codec::Compressor& compressor_;
  std::span<const float> tensor_;
  std::vector<float> mean_;
  std::uint32_t world_;
  std::vector<std::byte> kept_;
  std::vector<std::span<const std::byte>> gathered_;
  std::size_t sent_ = 0;
  std::size_t received_ = 0;
};

}  // namespace

std::vector<float> heavy_tailed_gradient(std::size_t elements, std::uint64_t seed, int rank) {
  base::Prng common(seed);
  base::Prng own(base::mix64(seed) + static_cast<std::uint64_t>(rank) + 1);
  std::vector<float> gradient(elements);
  for (float& value : gradient) {
    value = static_cast<float>(draw_heavy(common) + draw_heavy(own));
  }
  return gradient;
}

Result<CodecSpeed> measure_codec_speed(const CompressionOptions& options,
                                       const CodecSpeedOptions& how) {
  if (how.elements == 0 || how.world < 1) return refuse("there are no elements, or no ranks");
  auto choice = choose(options);
  if (!choice) return tl::unexpected(choice.error());
  const codec::Shape shape{how.elements, {}};
  const auto world = static_cast<std::uint32_t>(how.world);
  auto compressor = choice->make_compressor(shape, world);
  if (!compressor) return tl::unexpected(compressor.error());
  const std::vector<float> tensor = repeated_gradient(how.elements);
  OneRank rank(**compressor, tensor, world);

  const double gigabytes = static_cast<double>(how.elements * sizeof(float)) * 1e-9;
  std::vector<double> copy;
  std::vector<double> encode;
  std::vector<double> decode;
  std::vector<double> encode_ratio;
  std::vector<double> decode_ratio;
  rank.step(0);
  const double end = thread_s() + how.seconds;
  for (std::uint64_t step = 1; step <= 3 || thread_s() < end; ++step) {
    const OneRank::Times times = rank.step(step);
    const double copy_s = rank.copy_s();
    copy.push_back(gigabytes / copy_s);
    encode.push_back(gigabytes / times.encode_s);
    decode.push_back(gigabytes / times.decode_s);
    encode_ratio.push_back(copy_s / times.encode_s);
    decode_ratio.push_back(copy_s / times.decode_s);
  }
  CodecSpeed speed{.copy_gbps = median(copy),
                   .encode_gbps = median(encode),
                   .decode_gbps = median(decode),
                   .encode_ratio = median(encode_ratio),
                   .decode_ratio = median(decode_ratio),
                   .bits_sent = rank.bits_sent(),
                   .bits_received = rank.bits_received(),
                   .bits_of_formula = {}};
  if (choice->method().formula_bits) {
    speed.bits_of_formula = choice->method().formula_bits(shape, choice->settings(), world) /
                            static_cast<double>(how.elements);
  }
  return speed;
}

Result<double> measure_codec_error(const CompressionOptions& options,
                                   std::span<const std::vector<float>> gradients) {
  if (gradients.empty() || gradients[0].empty()) return refuse("there are no gradients");
  auto choice = choose(options);
  if (!choice) return tl::unexpected(choice.error());
  const std::size_t elements = gradients[0].size();
  codec::RoundTable::Compressors ranks;
  for (const std::vector<float>& gradient : gradients) {
    if (gradient.size() != elements) return refuse("the gradients have several sizes");
    auto compressor =
        choice->make_compressor({elements, {}}, static_cast<std::uint32_t>(gradients.size()));
    if (!compressor) return tl::unexpected(compressor.error());
    ranks.push_back(*std::move(compressor));
  }
  codec::RoundTable table(std::move(ranks));
  if (!table.meet(gradients, {.seed = options.seed, .parameter = 1})) {
    return refuse("a code was not sound");
  }
  const std::vector<float> mean = table.mean_of(0);
  double error = 0;
  double square = 0;
  for (std::size_t i = 0; i < elements; ++i) {
    double exact = 0;
    for (const std::vector<float>& gradient : gradients) exact += double{gradient[i]};
    exact /= static_cast<double>(gradients.size());
    error += (double{mean[i]} - exact) * (double{mean[i]} - exact);
    square += exact * exact;
  }
  if (square == 0) return refuse("the mean of the gradients is zero");
  return error / square;
}

}  // namespace infold
