// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstring>
#include <ctime>
#include <functional>
#include <optional>
#include <string>
#include <utility>

#include <infold/compression_benchmark.h>
#include <infold/encoded.h>
#include <infold/local_group.h>

#include "base/prng.h"
#include "compress/choice.h"
#include "compress/normal.h"
#include "compress/round_table.h"

namespace infold {
namespace {

using compress::Answer;
using compress::Leg;
using compress::Travel;

constexpr std::size_t kRanksWithoutRacks = 256;

Error problem(std::string message) { return {Code::invalid_argument, std::move(message), -1, ""}; }
tl::unexpected<Error> refuse(std::string message) {
  return tl::unexpected(problem(std::move(message)));
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
  const double normal = compress::draw_normal(prng);
  return normal * std::exp(compress::draw_normal(prng));
}

// A volatile pointer, because compilers would otherwise drop a copy whose target nobody reads.
void* (*volatile copy_bytes)(void*, const void*, std::size_t) = std::memcpy;

Result<compress::CompressionChoice> choose(const CompressionOptions& options) {
  return compress::CompressionChoice::make({options.method, options.settings, "none", {}});
}

// Drawing numbers takes longer than most methods, so a large tensor repeats its first part.
std::vector<float> repeated_gradient(std::size_t elements) {
  const std::vector<float> drawn =
      heavy_tailed_gradient(std::min<std::size_t>(elements, std::size_t{1} << 20), 1, 0);
  std::vector<float> tensor(elements);
  for (std::size_t i = 0; i < elements; ++i) tensor[i] = drawn[i % drawn.size()];
  return tensor;
}

std::vector<float> tensor_of(const CodecSpeedOptions& how) {
  if (how.gradient.empty()) return repeated_gradient(how.elements);
  return {how.gradient.begin(), how.gradient.end()};
}

// Two sides that are as close to each other as the number of elements allows. None of a prime.
compress::Shape shape_of(std::size_t elements) {
  auto side = static_cast<std::size_t>(std::sqrt(static_cast<double>(elements)));
  while (side > 1 && elements % side != 0) --side;
  if (side <= 1) return {elements, {}};
  return {elements, {elements / side, side}};
}

struct Times {
  double encode_s = 0;
  double decode_s = 0;
};

// Repeats a step, with a copy of the tensor beside each.
CodecSpeed measure_steps(const CodecSpeedOptions& how, std::span<const float> tensor,
                         const std::function<Times(std::uint64_t step)>& run) {
  const double gigabytes = static_cast<double>(tensor.size_bytes()) * 1e-9;
  std::vector<float> target(tensor.size());
  std::vector<double> copy;
  std::vector<double> encode;
  std::vector<double> decode;
  std::vector<double> encode_ratio;
  std::vector<double> decode_ratio;
  run(0);
  const double end = thread_s() + how.seconds;
  for (std::uint64_t step = 1; step <= 3 || thread_s() < end; ++step) {
    const Times times = run(step);
    const double start = thread_s();
    copy_bytes(target.data(), tensor.data(), tensor.size_bytes());
    const double copy_s = thread_s() - start;
    copy.push_back(gigabytes / copy_s);
    encode.push_back(gigabytes / times.encode_s);
    decode.push_back(gigabytes / times.decode_s);
    encode_ratio.push_back(copy_s / times.encode_s);
    decode_ratio.push_back(copy_s / times.decode_s);
  }
  return {.copy_gbps = median(copy),
          .encode_gbps = median(encode),
          .decode_gbps = median(decode),
          .encode_ratio = median(encode_ratio),
          .decode_ratio = median(decode_ratio),
          .bits_of_formula = {}};
}

// One rank of a job in which every other rank sends the same data.
class OneRank {
 public:
  OneRank(compress::Compressor& compressor, std::span<const float> tensor, std::uint32_t world)
      : compressor_(compressor),
        tensor_(tensor),
        mean_(tensor.size()),
        world_(world),
        codes_(world) {}

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

  double bits_sent() const { return bits_of(sent_); }
  double bits_received() const { return bits_of(received_); }

 private:
  double bits_of(std::size_t bytes) const {
    return 8 * static_cast<double>(bytes) / static_cast<double>(tensor_.size());
  }

  // Each rank's code has memory of its own, as if it had come over the network: the same memory
  // for all would be read from a cache.
  Answer answer_to(const Leg& leg) {
    sent_ += leg.sent.size() + leg.indices.size_bytes();
    if (leg.travel == Travel::gather) {
      received_ += leg.sent.size() * (world_ - 1);
      gathered_.clear();
      for (std::vector<std::byte>& code : codes_) {
        code.assign(leg.sent.begin(), leg.sent.end());
        gathered_.emplace_back(code);
      }
      return {.reduced = {}, .gathered = gathered_};
    }
    received_ += leg.sent.size();
    std::vector<std::byte>& reduced = codes_.front();
    if (leg.travel != Travel::rows) {
      reduced.assign(leg.sent.begin(), leg.sent.end());
      return {.reduced = reduced, .gathered = {}};
    }
    reduced.assign(leg.elements * sizeof(float), std::byte{0});
    for (std::size_t i = 0; i < leg.indices.size(); ++i) {
      std::memcpy(reduced.data() + leg.indices[i] * sizeof(float),
                  leg.sent.data() + i * sizeof(float), sizeof(float));
    }
    return {.reduced = reduced, .gathered = {}};
  }

  compress::Compressor& compressor_;
  std::span<const float> tensor_;
  std::vector<float> mean_;
  std::uint32_t world_;
  std::vector<std::vector<std::byte>> codes_;  // one code for each rank
  std::vector<std::span<const std::byte>> gathered_;
  std::size_t sent_ = 0;
  std::size_t received_ = 0;
};

std::optional<Error> check_gradients(std::span<const std::vector<float>> gradients) {
  if (gradients.empty() || gradients[0].empty()) return problem("there are no gradients");
  const bool are_equal = std::all_of(gradients.begin(), gradients.end(), [&](const auto& each) {
    return each.size() == gradients[0].size();
  });
  if (!are_equal) return problem("the gradients have several sizes");
  return std::nullopt;
}

// The squared error as a part of the mean's square.
Result<double> error_of(std::span<const float> mean,
                        std::span<const std::vector<float>> gradients) {
  double error = 0;
  double square = 0;
  for (std::size_t i = 0; i < mean.size(); ++i) {
    double exact = 0;
    for (const std::vector<float>& gradient : gradients) exact += double{gradient[i]};
    exact /= static_cast<double>(gradients.size());
    error += (double{mean[i]} - exact) * (double{mean[i]} - exact);
    square += exact * exact;
  }
  if (square == 0) return refuse("the mean of the gradients is zero");
  return error / square;
}

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
  const std::vector<float> tensor = tensor_of(how);
  if (tensor.empty() || how.world < 1) return refuse("there are no elements, or no ranks");
  auto choice = choose(options);
  if (!choice) return tl::unexpected(choice.error());
  const compress::Shape shape = shape_of(tensor.size());
  const auto world = static_cast<std::uint32_t>(how.world);
  auto compressor = choice->make_compressor(shape, world);
  if (!compressor) return tl::unexpected(compressor.error());
  OneRank rank(**compressor, tensor, world);
  CodecSpeed speed =
      measure_steps(how, tensor, [&rank](std::uint64_t step) { return rank.step(step); });
  speed.bits_sent = rank.bits_sent();
  speed.bits_received = rank.bits_received();
  if (choice->method().formula_bits) {
    speed.bits_of_formula = choice->method().formula_bits(shape, choice->settings(), world) /
                            static_cast<double>(tensor.size());
  }
  return speed;
}

Result<CodecSpeed> measure_format_speed(WireFormat wire, const CodecSpeedOptions& how) {
  const std::vector<float> tensor = tensor_of(how);
  if (tensor.empty()) return refuse("there are no elements");
  const std::size_t of_exponents = exponent_bytes(wire, DataType::f32, tensor.size());
  const std::size_t of_mantissas = mantissa_bytes(wire, DataType::f32, tensor.size());
  if (of_mantissas == 0) return refuse("only block formats are encoded");
  std::vector<std::byte> exponents(of_exponents);
  std::vector<std::byte> mantissas(of_mantissas);
  std::vector<float> sum(tensor.size());
  const MutableEncodedView encoded{wire, DataType::f32, tensor.size(), exponents.data(),
                                   mantissas.data()};
  std::optional<Error> failure;
  const auto note = [&failure](const Result<void>& done) {
    if (!done) failure = done.error();
  };
  CodecSpeed speed = measure_steps(how, tensor, [&](std::uint64_t) {
    const double start = thread_s();
    note(encode(TensorView(std::span(tensor)), encoded));
    const double middle = thread_s();
    note(decode(encoded, MutableTensorView(std::span(sum))));
    return Times{.encode_s = middle - start, .decode_s = thread_s() - middle};
  });
  if (failure) return tl::unexpected(*std::move(failure));
  speed.bits_sent = speed.bits_received =
      8 * static_cast<double>(of_exponents + of_mantissas) / static_cast<double>(tensor.size());
  return speed;
}

Result<double> measure_codec_error(const CompressionOptions& options,
                                   std::span<const std::vector<float>> gradients) {
  if (auto failure = check_gradients(gradients)) return tl::unexpected(*std::move(failure));
  auto choice = choose(options);
  if (!choice) return tl::unexpected(choice.error());
  compress::RoundTable::Compressors ranks;
  for (std::size_t rank = 0; rank < gradients.size(); ++rank) {
    auto compressor = choice->make_compressor(shape_of(gradients[0].size()),
                                              static_cast<std::uint32_t>(gradients.size()));
    if (!compressor) return tl::unexpected(compressor.error());
    ranks.push_back(*std::move(compressor));
  }
  compress::RoundTable table(std::move(ranks));
  if (!table.meet(gradients, {.seed = options.seed, .parameter = 1})) {
    return refuse("a code was not sound");
  }
  return error_of(table.mean_of(0), gradients);
}

Result<double> measure_format_error(WireFormat wire,
                                    std::span<const std::vector<float>> gradients) {
  if (auto failure = check_gradients(gradients)) return tl::unexpected(*std::move(failure));
  auto group = LocalGroup::create({.world = static_cast<int>(gradients.size()),
                                   .rack_size = gradients.size() > kRanksWithoutRacks ? 64 : 0,
                                   .wire = wire,
                                   .deadline = std::chrono::minutes(10)});
  if (!group) return tl::unexpected(group.error());
  std::vector<std::vector<float>> tensors(gradients.begin(), gradients.end());
  std::vector<Handle> handles;
  for (std::size_t rank = 0; rank < tensors.size(); ++rank) {
    handles.push_back((*group)[static_cast<int>(rank)].all_reduce(
        MutableTensorView(std::span(tensors[rank])), {.reduction = Reduction::average}));
  }
  for (Handle& handle : handles) {
    if (auto done = handle.wait(); !done) return tl::unexpected(std::move(done.error()));
  }
  return error_of(tensors.front(), gradients);
}

}  // namespace infold
