// SPDX-License-Identifier: Apache-2.0
//
// When a worker sends chunks with agreed exponents: each as soon as its blocks' codes are
// there, and never before.
#include <cstring>
#include <vector>

#include <gtest/gtest.h>

#include "base/prng.h"
#include "core/aggregator.h"
#include "core/stripe.h"
#include "core/worker.h"

namespace infold::core {
namespace {

using base::Instant;

std::uint16_t agreed_code(std::uint64_t block) {
  return static_cast<std::uint16_t>(1 + block % 100);
}

// A code is two bytes in memory and two elements on the wire, as the ranks' real one.
bool encode_codes(const std::byte* tensor, ChunkRange range, const std::uint16_t*, std::byte*,
                  std::byte* elements) {
  for (std::uint32_t i = 0; i < range.elements; i += 2) {
    std::int16_t pair[2] = {};
    std::memcpy(&pair[0], tensor + range.first + i, sizeof(pair[0]));
    std::memcpy(elements + i * sizeof(pair[0]), pair, sizeof(pair));
  }
  return false;
}

void decode_codes(std::byte* tensor, ChunkRange range, const TensorCodec::Received& received) {
  for (std::uint32_t i = 0; i < range.elements; i += 2) {
    std::memcpy(tensor + range.first + i, received.elements + i * std::size_t{2}, 2);
  }
}

// Integers times their block's code: a code that is not there yet shows in the sum.
template <std::uint32_t kBlockElements>
bool encode_scaled(const std::byte* tensor, ChunkRange range, const std::uint16_t* codes,
                   std::byte*, std::byte* elements) {
  for (std::uint32_t i = 0; i < range.elements; ++i) {
    std::int32_t value = 0;
    std::memcpy(&value, tensor + (range.first + i) * sizeof(value), sizeof(value));
    value *= codes == nullptr ? 1 : codes[i / kBlockElements];
    std::memcpy(elements + i * sizeof(value), &value, sizeof(value));
  }
  return false;
}

void decode_scaled(std::byte* tensor, ChunkRange range, const TensorCodec::Received& received) {
  std::memcpy(tensor + range.first * 4, received.elements, range.elements * std::size_t{4});
}

constexpr TensorCodec kCodes = {1, encode_codes, decode_codes};
constexpr TensorCodec kScaled = {4, encode_scaled<32>, decode_scaled};
constexpr TensorCodec kScaledWide = {4, encode_scaled<64>, decode_scaled};

// One rank's part of a sum.
struct Tensor {
  Tensor(DataType dtype, std::uint64_t blocks, std::uint32_t rank, std::uint32_t world)
      : layout{WireFormat::i32, dtype},
        own_codes(blocks),
        codes(blocks),
        values(blocks * layout.block_elements()) {
    for (std::uint64_t block = 0; block < blocks; ++block) {
      own_codes[block] = block % world == rank ? agreed_code(block) : std::uint16_t{1};
    }
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = value_of(i, rank);
  }

  static std::int32_t value_of(std::size_t i, std::uint32_t rank) {
    return static_cast<std::int32_t>(i % 1000 + rank);
  }

  TransferRequest agreement() {
    TransferRequest request;
    request.reduction = Reduction::max;
    request.layout = {WireFormat::i16, layout.dtype};
    request.elements = codes.size() * 2;
    request.codec = &kCodes;
    request.input = reinterpret_cast<const std::byte*>(own_codes.data());
    request.output = reinterpret_cast<std::byte*>(codes.data());
    return request;
  }

  TransferRequest data(TransferId after) {
    TransferRequest request;
    request.layout = layout;
    request.elements = values.size();
    request.codec = layout.block_elements() == 64 ? &kScaledWide : &kScaled;
    request.input = reinterpret_cast<const std::byte*>(values.data());
    request.output = reinterpret_cast<std::byte*>(values.data());
    request.codes = codes.data();
    request.after = after;
    return request;
  }

  void expect_sum(std::uint32_t world) const {
    for (std::size_t i = 0; i < values.size(); ++i) {
      std::int32_t sum = 0;
      for (std::uint32_t rank = 0; rank < world; ++rank) sum += value_of(i, rank);
      ASSERT_EQ(values[i], sum * agreed_code(i / layout.block_elements())) << "element " << i;
    }
  }

  ElementLayout layout;
  std::vector<std::uint16_t> own_codes, codes;
  std::vector<std::int32_t> values;
};

struct JobOptions {
  std::uint16_t world = 1;
  std::vector<std::uint16_t> weights = {1};  // a site each
  std::uint32_t elements_max = 32;  // a block to a chunk of data, 16 blocks to one of codes
  std::uint16_t small_slots = 4;
  std::uint16_t bulk_slots = 60;
};

// Ranks and aggregators, and all that is on its way between them.
class Job {
 public:
  enum class Content : std::uint8_t { codes, data, other };
  struct Parcel {
    bool goes_up = false;
    std::uint16_t rank = 0;
    std::uint8_t site = 0;
    Content content = Content::other;
    std::vector<std::byte> bytes;
  };

  explicit Job(const JobOptions& options) {
    AggregatorOptions aggregator;
    for (std::uint16_t rank = 0; rank < options.world; ++rank) {
      WorkerOptions worker;
      worker.rank = rank;
      worker.world = options.world;
      worker.limits.datagram_bytes_max = 1472;
      worker.limits.elements_max = options.elements_max;
      for (const std::uint16_t weight : options.weights) {
        worker.sites.push_back(
            {.worker = static_cast<std::uint8_t>(rank), .weight = weight, .epoch = 7});
      }
      worker.small_slots = options.small_slots;
      worker.bulk_slots = options.bulk_slots;
      worker.seed = rank;
      workers.emplace_back(worker);
      aggregator.workers.push_back({rank, 1});
    }
    aggregator.epoch = 7;
    aggregator.slot_count = static_cast<std::uint16_t>(options.small_slots + options.bulk_slots);
    aggregator.world = options.world;
    aggregator.datagram_bytes_max = 1472;
    for (std::size_t site = 0; site < options.weights.size(); ++site) {
      aggregators.emplace_back(aggregator);
    }
  }

  // At the first rank.
  void submit(Tensor& tensor) {
    const auto agreement = workers[0].submit(now, tensor.agreement());
    ASSERT_TRUE(agreement && workers[0].submit(now, tensor.data(*agreement)));
  }

  // Returns how many packets of data were sent.
  std::size_t send() {
    std::size_t of_data = 0;
    std::vector<std::byte> out(1472);
    for (std::uint16_t rank = 0; rank < workers.size(); ++rank) {
      while (const auto sent = workers[rank].poll_transmit(now, out)) {
        const std::span bytes = std::span(out).first(sent->bytes);
        const Content content = content_of(bytes);
        if (content == Content::data) ++of_data;
        wire.push_back({true, rank, sent->site, content, {bytes.begin(), bytes.end()}});
      }
    }
    return of_data;
  }

  // Takes it off the wire, unless it is to come once more.
  void deliver(std::size_t index, bool repeats = false) {
    const Parcel parcel = wire[index];
    if (!repeats) wire.erase(wire.begin() + static_cast<std::ptrdiff_t>(index));
    if (!parcel.goes_up) {
      workers[parcel.rank].handle_datagram(now, parcel.site, parcel.bytes);
      return;
    }
    Aggregator& aggregator = aggregators[parcel.site];
    aggregator.handle_datagram(parcel.bytes);
    while (const auto answer = aggregator.poll_transmit()) {
      const std::vector<std::byte> bytes(answer->datagram.begin(), answer->datagram.end());
      for (std::uint16_t rank = 0; rank < workers.size(); ++rank) {
        if (answer->to == Aggregator::To::worker && answer->worker != rank) continue;
        wire.push_back({false, rank, parcel.site, content_of(bytes), bytes});
      }
    }
  }

  // The nth of what is on its way with such content.
  void deliver_nth(Content content, std::size_t nth) {
    for (std::size_t i = 0; i < wire.size(); ++i) {
      if (wire[i].content == content && nth-- == 0) return deliver(i);
    }
    FAIL() << "nothing such is on its way";
  }

  void deliver_all_that_goes_up() {
    for (std::size_t i = 0; i < wire.size();) {
      if (wire[i].goes_up) {
        deliver(i);
      } else {
        ++i;
      }
    }
  }

  // Returns the same when all has arrived.
  std::size_t send_rest() {
    std::size_t of_data = send();
    while (!wire.empty()) {
      deliver(0);
      of_data += send();
    }
    return of_data;
  }

  std::vector<Worker> workers;
  std::vector<Aggregator> aggregators;
  std::vector<Parcel> wire;
  Instant now;

 private:
  static Content content_of(std::span<const std::byte> bytes) {
    Packet packet;
    EXPECT_EQ(parse(bytes, packet), Malformed::none);
    const Header& header = packet.header;
    const bool has_elements = header.kind == Kind::add || header.kind == Kind::result;
    if (!has_elements || header.words.elements == 0) return Content::other;
    return header.words.reduction() == Reduction::max ? Content::codes : Content::data;
  }
};

class AgreedCodes : public ::testing::TestWithParam<std::uint16_t> {
 protected:
  static constexpr auto kCodesSent = Job::Content::codes;
};

// Codes in the small stream, codes in the bulk stream, and no small stream.
INSTANTIATE_TEST_SUITE_P(SmallSlots, AgreedCodes, ::testing::Values(4, 1, 0));

TEST_P(AgreedCodes, AChunkGoesOnceItsOwnAreThere) {
  Job job({.small_slots = GetParam()});
  Worker& worker = job.workers[0];
  Tensor tensor(DataType::f32, 36, 0, 1);
  job.submit(tensor);
  EXPECT_EQ(job.send(), 0U);
  job.deliver_all_that_goes_up();
  EXPECT_EQ(job.send(), 0U) << "what was sent is no answer";
  job.deliver_nth(kCodesSent, 2);
  EXPECT_EQ(job.send(), 0U);
  job.deliver_nth(kCodesSent, 0);
  EXPECT_EQ(job.send(), 16U);
  while (job.wire.size() > 1) {  // all but the codes in the middle
    job.deliver(job.wire[0].content == kCodesSent ? 1 : 0);
    EXPECT_EQ(job.send(), 0U);
  }
  EXPECT_EQ(job.send_rest(), 20U);
  tensor.expect_sum(1);
  for (const bool more : {true, true, false}) EXPECT_EQ(worker.poll_event().has_value(), more);
}

// Chunks of f64 have 5 blocks, chunks of their codes 224: the 45th lies across.
TEST_P(AgreedCodes, AChunkThatLiesAcrossWaitsForBoth) {
  Job job({.elements_max = 448, .small_slots = GetParam(), .bulk_slots = 400});
  Tensor tensor(DataType::f64, 500, 0, 1);
  job.submit(tensor);
  EXPECT_EQ(job.send(), 0U);
  job.deliver_all_that_goes_up();
  job.deliver_nth(kCodesSent, 0);
  std::size_t sent = job.send();
  while (job.wire.size() > 2) {  // all but the two that bring the other codes
    std::size_t next = 0;
    while (job.wire[next].content == kCodesSent) ++next;
    job.deliver(next);
    sent += job.send();
  }
  EXPECT_EQ(sent, 44U);
  EXPECT_EQ(sent + job.send_rest(), 100U);
  tensor.expect_sum(1);
}

// What comes before it in the order of calls holds up a call's own packets only.
TEST_P(AgreedCodes, CallsBeforeNeedNotBeDone) {
  Job job({.small_slots = GetParam()});
  Worker& worker = job.workers[0];
  Tensor first(DataType::f32, 1, 0, 1), second(DataType::f32, 33, 0, 1);
  ASSERT_TRUE(worker.submit(job.now, first.data(TransferId::none)));
  job.submit(second);
  EXPECT_EQ(job.send(), 1U);
  job.deliver_all_that_goes_up();
  job.deliver_nth(kCodesSent, 0);
  EXPECT_EQ(job.send(), 16U);
}

// The end of a job in the middle of it: both fail, in order, and nothing more is sent.
TEST_P(AgreedCodes, AJobMayEndBetweenThem) {
  Job job({.small_slots = GetParam()});
  Worker& worker = job.workers[0];
  Tensor tensor(DataType::f32, 36, 0, 1);
  const auto agreement = worker.submit(job.now, tensor.agreement());
  const auto data = worker.submit(job.now, tensor.data(*agreement));
  job.send();
  job.deliver_all_that_goes_up();
  job.deliver_nth(kCodesSent, 0);
  EXPECT_EQ(job.send(), 16U);
  worker.cancel(job.now);
  while (!job.wire.empty()) {
    job.deliver(0);
    EXPECT_EQ(job.send(), 0U);
  }
  for (const TransferId id : {*agreement, *data}) {
    const auto event = worker.poll_event();
    ASSERT_TRUE(event && event->failure);
    EXPECT_EQ(event->id, id);
    EXPECT_EQ(event->failure->error.code, base::Code::cancelled);
  }
}

TEST_P(AgreedCodes, WithoutCodesATransferWaitsForAllOfAnother) {
  Job job({.small_slots = GetParam()});
  Worker& worker = job.workers[0];
  Tensor tensor(DataType::f32, 36, 0, 1);
  const auto agreement = worker.submit(job.now, tensor.agreement());
  TransferRequest request = tensor.data(*agreement);
  request.codes = nullptr;
  ASSERT_TRUE(worker.submit(job.now, request));
  EXPECT_EQ(job.send(), 0U);
  job.deliver_all_that_goes_up();
  for (int answers = 0; answers < 2; ++answers) {
    job.deliver_nth(kCodesSent, 0);
    EXPECT_EQ(job.send(), 0U);
  }
  EXPECT_EQ(job.send_rest(), 36U);
}

TEST(WorkerCodes, AChunkWhoseSlotIsTakenAgainHasBroughtItsCodes) {
  Job job({.small_slots = 0, .bulk_slots = 2});
  Tensor tensor(DataType::f32, 36, 0, 1);
  job.submit(tensor);
  EXPECT_EQ(job.send(), 0U);
  job.deliver_all_that_goes_up();
  while (!job.wire.empty()) job.deliver(0);
  EXPECT_EQ(job.send(), 1U) << "beside the third chunk of codes";
  EXPECT_EQ(job.send_rest(), 35U);
  tensor.expect_sum(1);
}

// Chunks of a transfer have no numbers while one before it in its stream has no size.
TEST(WorkerCodes, AChunkWaitsForCodesThatHaveNoPlaceYet) {
  Job job({.small_slots = 60, .bulk_slots = 60});
  Worker& worker = job.workers[0];
  Tensor before(DataType::f32, 10, 0, 1), later(DataType::f32, 1, 0, 1);
  Tensor tensor(DataType::f32, 36, 0, 1);
  TransferRequest sized_before = before.data(TransferId::none);
  sized_before.priority = Priority::background;
  ASSERT_TRUE(worker.submit(job.now, sized_before));
  EXPECT_EQ(job.send_rest(), 10U);
  TransferRequest sized_later = later.data(TransferId::none);
  sized_later.sized_later = true;
  const auto unsized = worker.submit(job.now, sized_later);
  TransferRequest codes = tensor.agreement();
  codes.priority = Priority::background;
  const auto agreement = worker.submit(job.now, codes);
  TransferRequest urgent = tensor.data(*agreement);
  urgent.priority = Priority::urgent;
  ASSERT_TRUE(worker.submit(job.now, urgent));
  EXPECT_EQ(job.send_rest(), 0U);
  worker.set_size(*unsized, 0);
  EXPECT_EQ(job.send_rest(), 36U);
  tensor.expect_sum(1);
}

// A light site's first chunk of a tensor may be the one that lies across.
TEST(WorkerCodes, AChunkAcrossWaitsForBothAtASiteOfItsOwn) {
  const JobOptions options = {
      .weights = {1, 64}, .elements_max = 448, .small_slots = 0, .bulk_slots = 400};
  constexpr std::uint64_t kAcross = 3 + 44;  // behind the chunks of codes
  const std::uint64_t place = Stripe(options.weights).chunk_at(0, {});
  Job job(options);
  Worker& worker = job.workers[0];
  Tensor before(DataType::f64, (place + 65 - kAcross) % 65 * 5, 0, 1);
  Tensor tensor(DataType::f64, 500, 0, 1);
  ASSERT_TRUE(worker.submit(job.now, before.data(TransferId::none)));
  job.send_rest();
  job.submit(tensor);
  EXPECT_EQ(job.send(), 0U);
  job.deliver_all_that_goes_up();
  job.deliver_nth(Job::Content::codes, 2);
  job.deliver_nth(Job::Content::codes, 1);
  EXPECT_EQ(job.send(), 0U);
  job.deliver(0);
  EXPECT_EQ(job.send_rest(), 100U);
  tensor.expect_sum(1);
}

// Answers that a large tensor's chunks wait for are not left unread.
TEST(WorkerPatience, EndsWhereAChunkLacksItsCodes) {
  Job job({.elements_max = 32, .small_slots = 0, .bulk_slots = 448});
  Worker& worker = job.workers[0];
  Tensor before(DataType::f32, 4, 0, 1), tensor(DataType::f32, 400, 0, 1);
  const auto send_and_wait = [&] {
    job.send();
    job.deliver_all_that_goes_up();
    job.now = job.now + base::milliseconds(1);
  };
  ASSERT_TRUE(worker.submit(job.now, before.data(TransferId::none)));
  send_and_wait();
  while (!job.wire.empty()) job.deliver(0);
  job.submit(tensor);
  send_and_wait();
  EXPECT_EQ(worker.in_flight(), 25U) << "all codes";
  EXPECT_EQ(worker.patience(), base::Duration{});
  job.deliver(0);
  EXPECT_GT(job.send(), 0U);
  EXPECT_GT(worker.patience(), base::Duration{});
}

// A network that loses, repeats and reorders what it likes, and several calls in turn.
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
}  // namespace infold::core
