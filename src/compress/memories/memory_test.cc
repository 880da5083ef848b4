// SPDX-License-Identifier: Apache-2.0
//
// Compares each memory with its formula, which is written out here, under a compressor that drops
// chosen elements.
#include "compress/memories/memory.h"

#include "compress/testing.h"

namespace infold::compress {
namespace {

// Sends only the elements whose index plus the step is a multiple of three.
class EveryThird final : public Compressor {
 public:
  Leg begin(std::span<const float> tensor, const Turn& turn) override {
    sent_.assign(tensor.begin(), tensor.end());
    for (std::size_t i = 0; i < sent_.size(); ++i) {
      if ((i + turn.step) % 3 != 0) sent_[i] = 0;
    }
    return {Travel::floats, std::as_bytes(std::span(sent_))};
  }
  std::optional<Leg> next(const Answer&) override { return std::nullopt; }
  void write_mean(std::span<float> mean) override { write_sent(mean); }
  void write_sent(std::span<float> sent) const override {
    std::copy(sent_.begin(), sent_.end(), sent.begin());
  }

 private:
  std::vector<float> sent_;
};

constexpr std::size_t kElements = 30;

std::unique_ptr<Memory> make_memory(const char* name, const Settings::Given& given = {}) {
  const MemoryKind* const kind = find_memory(name);
  EXPECT_NE(kind, nullptr);
  return kind->make(kElements, *Settings::make(kind->settings, given, name));
}

// Returns what the compressor gets at each step.
std::vector<std::vector<float>> run(Memory& memory,
                                    const std::vector<std::vector<float>>& gradients) {
  EveryThird compressor;
  std::vector<std::vector<float>> inputs;
  for (std::uint64_t step = 0; step < gradients.size(); ++step) {
    // A step that fails after see() must leave no trace.
    compressor.begin(memory.take_in(gradients[step]), {.step = step});
    memory.see(compressor);
    const std::span<const float> input = memory.take_in(gradients[step]);
    inputs.emplace_back(input.begin(), input.end());
    compressor.begin(input, {.step = step});
    memory.see(compressor);
    memory.commit();
  }
  return inputs;
}

std::vector<std::vector<float>> draw_gradients() {
  base::Prng prng(4);
  std::vector<std::vector<float>> gradients;
  for (int step = 0; step < 5; ++step) gradients.push_back(draw_tensor(prng, kElements));
  return gradients;
}

bool is_sent(std::size_t element, std::size_t step) { return (element + step) % 3 == 0; }

TEST(Memory, ResidualAddsWhatWasNotSent) {
  const auto gradients = draw_gradients();
  const auto inputs = run(*make_memory("residual", {{"decay", 0.5}}), gradients);
  std::vector<float> rest(kElements);
  for (std::size_t step = 0; step < gradients.size(); ++step) {
    for (std::size_t i = 0; i < kElements; ++i) {
      const float input = 0.5F * rest[i] + gradients[step][i];
      EXPECT_EQ(inputs[step][i], input);
      rest[i] = is_sent(i, step) ? 0 : input;
    }
  }
}

TEST(Memory, MomentumIsARunningMean) {
  const auto gradients = draw_gradients();
  const auto inputs = run(*make_memory("momentum", {{"momentum", 0.75}}), gradients);
  std::vector<float> mean = gradients[0];
  for (std::size_t step = 0; step < gradients.size(); ++step) {
    for (std::size_t i = 0; i < kElements; ++i) {
      if (step > 0) mean[i] = 0.75F * mean[i] + 0.25F * gradients[step][i];
      EXPECT_EQ(inputs[step][i], mean[i]);
    }
  }
}

TEST(Memory, DgcForgetsBothWhereAnElementWasSent) {
  const auto gradients = draw_gradients();
  const auto inputs = run(*make_memory("dgc", {{"momentum", 0.5}}), gradients);
  std::vector<float> u(kElements);
  std::vector<float> v(kElements);
  for (std::size_t step = 0; step < gradients.size(); ++step) {
    for (std::size_t i = 0; i < kElements; ++i) {
      u[i] = 0.5F * u[i] + gradients[step][i];
      v[i] = v[i] + u[i];
      EXPECT_EQ(inputs[step][i], v[i]);
      if (is_sent(i, step)) u[i] = v[i] = 0;
    }
  }
}

TEST(Memory, EfSignKeepsStepsOverAChangeOfTheRate) {
  const auto gradients = draw_gradients();
  const std::unique_ptr<Memory> memory = make_memory("ef-sign", {{"rate", 0.5}});
  EveryThird compressor;
  std::vector<float> rest(kElements);
  for (std::uint64_t step = 0; step < gradients.size(); ++step) {
    const float rate = step < 2 ? 0.5F : 0.125F;
    memory->set_rate(double{rate});
    const std::span<const float> input = memory->take_in(gradients[step]);
    compressor.begin(input, {.step = step});
    std::vector<float> mean(kElements);
    compressor.write_mean(mean);
    memory->see(compressor);
    memory->finish(mean);
    for (std::size_t i = 0; i < kElements; ++i) {
      const float whole = rest[i] + rate * gradients[step][i];
      EXPECT_EQ(input[i], whole);
      EXPECT_EQ(mean[i], is_sent(i, step) ? whole / rate : 0);
      rest[i] = is_sent(i, step) ? 0 : whole;
    }
    memory->commit();
  }
}

TEST(Memory, ANumberThatIsNotFiniteIsForgotten) {
  for (const char* const name : {"residual", "dgc", "ef-sign"}) {
    const std::unique_ptr<Memory> memory = make_memory(name);
    std::vector<std::vector<float>> gradients(2, std::vector<float>(kElements, 1));
    gradients[0][1] = std::nanf("");
    gradients[0][2] = INFINITY;
    run(*memory, gradients);
    for (const Kept& kept : memory->kept()) {
      for (const float value : *kept.values) EXPECT_TRUE(std::isfinite(value)) << name;
    }
  }
}

}  // namespace
}  // namespace infold::compress
