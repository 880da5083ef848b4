// SPDX-License-Identifier: Apache-2.0
#include "bench/rivals/gloo_sparse.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <numeric>

#include <gloo/allgather.h>
#include <gloo/allgatherv.h>
#include <gloo/allreduce.h>
#include <gloo/math.h>

namespace infold::rivals {
namespace {

using Words = std::vector<std::uint32_t>;
constexpr std::size_t kWordBits = 32;

// Up to this size all ranks send their words to all others, in one hop. A ring of 8 needs 14 hops,
// and Gloo's ring takes 20 ms for such sizes (docs/benchmarks/rivals.md).
constexpr std::size_t kOneHopBytesMax = std::size_t{16} << 10;

// Makes one pass at the speed of memory. Compilers vectorise it.
bool has_something(std::span<const float> block) {
  std::uint32_t all = 0;
  for (const float element : block) all |= std::bit_cast<std::uint32_t>(element);
  return (all & 0x7FFFFFFF) != 0;
}

std::span<const float> block_of(std::span<const float> tensor, std::size_t block,
                                std::size_t length) {
  const std::size_t first = block * length;
  return tensor.subspan(first, std::min(length, tensor.size() - first));
}

void join_words(Words& words, const std::uint32_t* other) {
  for (std::size_t i = 0; i < words.size(); ++i) words[i] |= other[i];
}

// Joins the ranks' words. After that it does not matter which rank has set a bit.
class Joining {
 public:
  Joining(const Context& context, std::size_t words)
      : context_(context), all_(words * static_cast<std::size_t>(context->size)) {}

  void run(Words& words) {
    if (words.size() * sizeof(std::uint32_t) > kOneHopBytesMax) return run_ring(words);
    // All ranks send to all others, because a ring of gathers would need as many hops as a ring of
    // sums.
    slot_ ^= 1;
    auto own = context_->createUnboundBuffer(words.data(), words.size() * sizeof(std::uint32_t));
    auto others = context_->createUnboundBuffer(all_.data(), all_.size() * sizeof(std::uint32_t));
    const std::size_t bytes = words.size() * sizeof(std::uint32_t);
    for (int step = 1; step < context_->size; ++step) {
      const int from = (context_->rank + step) % context_->size;
      others->recv(from, slot_, static_cast<std::size_t>(from) * bytes, bytes);
    }
    for (int step = 1; step < context_->size; ++step) {
      own->send((context_->rank + context_->size - step) % context_->size, slot_);
    }
    for (int step = 1; step < context_->size; ++step) others->waitRecv();
    for (int step = 1; step < context_->size; ++step) own->waitSend();
    for (int rank = 0; rank < context_->size; ++rank) {
      if (rank == context_->rank) continue;
      join_words(words, all_.data() + static_cast<std::size_t>(rank) * words.size());
    }
  }

 private:
  void run_ring(Words& words) {
    gloo::AllreduceOptions call(context_);
    call.setAlgorithm(gloo::AllreduceOptions::Algorithm::RING);
    call.setOutput(words.data(), words.size());
    call.setReduceFunction([](void* joined, const void* left, const void* right, std::size_t n) {
      const auto* const a = static_cast<const std::uint32_t*>(left);
      const auto* const b = static_cast<const std::uint32_t*>(right);
      for (std::size_t i = 0; i < n; ++i) static_cast<std::uint32_t*>(joined)[i] = a[i] | b[i];
    });
    gloo::allreduce(call);
  }

  Context context_;
  Words all_;
  std::uint64_t slot_ = 1000;  // differs from the slots of other exchanges
};

class RingOverUnion {
 public:
  RingOverUnion(const Context& context, std::size_t block, std::size_t elements)
      : context_(context),
        block_(block),
        blocks_((elements + block - 1) / block),
        present_((blocks_ + kWordBits - 1) / kWordBits),
        joining_(context, present_.size()),
        packed_(elements) {}

  void run(std::span<const float> input, std::span<float> output) {
    std::fill(present_.begin(), present_.end(), 0U);
    for (std::size_t block = 0; block < blocks_; ++block) {
      present_[block / kWordBits] |= std::uint32_t{has_something(block_of(input, block, block_))}
                                     << block % kWordBits;
    }
    joining_.run(present_);
    std::size_t packed = 0;
    for (std::size_t block = 0; block < blocks_; ++block) {
      if (!is_present(block)) continue;
      const std::span<const float> from = block_of(input, block, block_);
      std::copy(from.begin(), from.end(), packed_.begin() + static_cast<std::ptrdiff_t>(packed));
      packed += from.size();
    }
    ring_sum(context_, std::span(packed_).first(packed));
    const float* next = packed_.data();
    for (std::size_t block = 0; block < blocks_; ++block) {
      const std::size_t size = block_of(output, block, block_).size();
      float* const to = output.data() + block * block_;
      if (is_present(block)) {
        std::copy_n(next, size, to);
        next += size;
      } else {
        std::fill_n(to, size, 0.0F);
      }
    }
  }

 private:
  bool is_present(std::size_t block) const {
    return (present_[block / kWordBits] >> block % kWordBits & 1) != 0;
  }

  Context context_;
  std::size_t block_;
  std::size_t blocks_;
  Words present_;
  Joining joining_;
  std::vector<float> packed_;
};

class GatheredRows {
 public:
  GatheredRows(const Context& context, std::size_t row, std::size_t elements)
      : context_(context), row_(row), rows_((elements + row - 1) / row) {}

  void run(std::span<const float> input, std::span<float> output) {
    if (!has_own_) find_own(input);
    const auto world = static_cast<std::size_t>(context_->size);
    std::uint64_t own_count = own_rows_.size();
    std::vector<std::uint64_t> counts(world);
    gloo::AllgatherOptions count(context_);
    count.setInput(&own_count, 1);
    count.setOutput(counts.data(), world);
    gloo::allgather(count);

    const std::size_t all = std::accumulate(counts.begin(), counts.end(), std::size_t{0});
    all_rows_.resize(all);
    all_values_.resize(all * row_);
    gather(own_rows_, all_rows_, counts, 1);
    gather(own_values_, all_values_, counts, row_);
    std::fill(output.begin(), output.end(), 0.0F);
    for (std::size_t i = 0; i < all; ++i) {
      const std::size_t first = static_cast<std::size_t>(all_rows_[i]) * row_;
      const std::size_t size = std::min(row_, output.size() - first);
      for (std::size_t j = 0; j < size; ++j) output[first + j] += all_values_[i * row_ + j];
    }
  }

 private:
  void find_own(std::span<const float> input) {
    for (std::size_t row = 0; row < rows_; ++row) {
      const std::span<const float> values = block_of(input, row, row_);
      if (!has_something(values)) continue;
      own_rows_.push_back(static_cast<std::int64_t>(row));
      own_values_.insert(own_values_.end(), values.begin(), values.end());
      own_values_.resize(own_rows_.size() * row_);
    }
    has_own_ = true;
  }

  template <typename T>
  void gather(std::vector<T>& own, std::vector<T>& all, const std::vector<std::uint64_t>& counts,
              std::size_t each) {
    std::vector<std::size_t> sizes;
    for (const std::uint64_t rows : counts) sizes.push_back(rows * each);
    if (all.empty()) return;
    gloo::AllgathervOptions call(context_);
    call.setInput(own.data(), own.size());
    call.setOutput(all.data(), sizes);
    gloo::allgatherv(call);
  }

  Context context_;
  std::size_t row_;
  std::size_t rows_;
  bool has_own_ = false;
  std::vector<std::int64_t> own_rows_, all_rows_;
  std::vector<float> own_values_, all_values_;
};

}  // namespace

void ring_sum(const Context& context, std::span<float> tensor) {
  if (tensor.empty()) return;
  gloo::AllreduceOptions call(context);
  call.setAlgorithm(gloo::AllreduceOptions::Algorithm::RING);
  call.setOutput(tensor.data(), tensor.size());
  call.setReduceFunction([](void* sum, const void* left, const void* right, std::size_t count) {
    gloo::sum<float>(sum, left, right, count);
  });
  gloo::allreduce(call);
}

Reduce ring_over_union(const Context& context, std::size_t block, std::size_t elements) {
  auto sum = std::make_shared<RingOverUnion>(context, block, elements);
  return [sum](std::span<const float> in, std::span<float> out) { sum->run(in, out); };
}

Reduce gathered_rows(const Context& context, std::size_t block, std::size_t elements) {
  auto sum = std::make_shared<GatheredRows>(context, block, elements);
  return [sum](std::span<const float> in, std::span<float> out) { sum->run(in, out); };
}

}  // namespace infold::rivals
