// SPDX-License-Identifier: Apache-2.0
//
// Sums with agreed exponents over a network that loses, repeats and reorders packets.
#include <algorithm>
#include <vector>

#include <gtest/gtest.h>

#include "base/prng.h"
#include "core/worker/worker_codes_testing.h"

namespace infold::core::testing {
namespace {

using base::Instant;

// Makes several calls in turn over a network that loses, repeats and reorders packets at random.
class LossyCodes {
 public:
  explicit LossyCodes(std::uint64_t seed) : prng_(seed), job_(draw(prng_)) {
    world_ = static_cast<std::uint32_t>(job_.workers.size());
    tensors_.resize(world_);
    for (int calls = 0; calls < 4; ++calls) {
      const DataType dtype = prng_.chance(0.5) ? DataType::f32 : DataType::f64;
      const std::uint64_t blocks = 1 + prng_.below(prng_.chance(0.5) ? 300 : 8);
      for (std::uint32_t rank = 0; rank < world_; ++rank) {
        tensors_[rank].emplace_back(dtype, blocks, rank, world_);
      }
    }
    for (std::uint32_t rank = 0; rank < world_; ++rank) {
      for (Tensor& tensor : tensors_[rank]) {
        const auto id = job_.workers[rank].submit(job_.now, tensor.agreement());
        EXPECT_TRUE(id && job_.workers[rank].submit(job_.now, tensor.data(*id)));
      }
    }
  }

  void run() {
    const std::size_t events_due = world_ * tensors_[0].size() * 2;
    std::size_t events = 0;
    for (int step = 0; events < events_due && step < 200'000; ++step) {
      job_.send();
      if (job_.wire.empty() || prng_.chance(0.002)) expire();
      if (!job_.wire.empty()) move_one();
      for (Worker& worker : job_.workers) {
        while (const auto event = worker.poll_event()) {
          EXPECT_FALSE(event->failure.has_value());
          ++events;
        }
      }
    }
    ASSERT_EQ(events, events_due);
    for (const auto& tensors : tensors_) {
      for (const Tensor& tensor : tensors) tensor.expect_sum(world_);
    }
  }

 private:
  static JobOptions draw(base::Prng& prng) {
    JobOptions options;
    options.world = static_cast<std::uint16_t>(1 + prng.below(3));
    options.weights = {1};
    for (std::uint64_t more = prng.below(3); more > 0; --more) {
      options.weights.push_back(static_cast<std::uint16_t>(1 + prng.below(4)));
    }
    options.elements_max = prng.chance(0.5) ? 64 : 448;
    options.small_slots = static_cast<std::uint16_t>(prng.below(4));
    options.bulk_slots = static_cast<std::uint16_t>(1 + prng.below(24));
    return options;
  }

  void move_one() {
    job_.now = job_.now + base::microseconds(1);
    const std::size_t index = prng_.below(std::min<std::size_t>(job_.wire.size(), 40));
    if (prng_.chance(0.05)) {
      job_.wire.erase(job_.wire.begin() + static_cast<std::ptrdiff_t>(index));
    } else {
      job_.deliver(index, prng_.chance(0.05));
    }
  }

  void expire() {
    Instant next = Instant::never();
    for (Worker& worker : job_.workers) {
      next = std::min(next, worker.poll_timeout().value_or(next));
    }
    if (next == Instant::never()) return;
    job_.now = std::max(job_.now, next);
    for (Worker& worker : job_.workers) worker.handle_timeout(job_.now);
  }

  base::Prng prng_;
  Job job_;
  std::uint32_t world_ = 0;
  std::vector<std::vector<Tensor>> tensors_;
};

TEST(LossyAgreedCodes, SumsAreExactWhateverIsLostOrOvertaken) {
  for (std::uint64_t seed = 1; seed <= 100; ++seed) {
    SCOPED_TRACE(seed);
    LossyCodes(seed).run();
    if (::testing::Test::HasFailure()) return;
  }
}

}  // namespace
}  // namespace infold::core::testing
