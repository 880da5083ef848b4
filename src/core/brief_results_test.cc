// SPDX-License-Identifier: Apache-2.0
//
// The root of a broadcast gets only the header of its result, and takes its own elements.
// The result has the same bits even if packets are lost, and workers drop such results where they
// are not allowed.
#include <array>
#include <tuple>

#include <gtest/gtest.h>

#include "core/star_testing.h"

namespace infold::core {
namespace {

using testing::Star;
using testing::sum_of;
using Bytes = std::vector<std::byte>;
using Tensor = std::vector<std::int32_t>;

constexpr std::uint16_t kWorld = 3;
constexpr std::uint16_t kRoot = 1;
constexpr std::uint32_t kElements = 32;  // elements in a chunk

constexpr TensorCodec kCopies = {4, testing::encode_i32, testing::decode_i32, false, true};

// Elements on the wire differ from those in memory, and encoding rounds them.
bool encode_tens(const void*, const std::byte* tensor, ChunkRange range, const std::uint16_t*,
                 std::byte*, std::byte* elements) {
  for (std::uint32_t i = 0; i < range.elements; ++i) {
    std::int32_t value;
    std::memcpy(&value, tensor + (range.first + i) * 4, 4);
    value /= 10;
    std::memcpy(elements + i * std::size_t{4}, &value, 4);
  }
  return false;
}

void decode_tens(void*, std::byte* tensor, ChunkRange range,
                 const TensorCodec::Received& received) {
  for (std::uint32_t i = 0; i < range.elements; ++i) {
    std::int32_t value;
    std::memcpy(&value, received.elements + i * std::size_t{4}, 4);
    value *= 10;
    std::memcpy(tensor + (range.first + i) * 4, &value, 4);
  }
}

constexpr TensorCodec kRounds = {4, encode_tens, decode_tens};

TransferRequest broadcast_of(Tensor& input, Tensor& output, const TensorCodec& codec) {
  TransferRequest request = sum_of(input);
  request.collective = Collective::broadcast;
  request.root = kRoot;
  request.codec = &codec;
  request.output = reinterpret_cast<std::byte*>(output.data());
  return request;
}

Tensor tensor_of(std::uint16_t rank, std::size_t elements) {
  Tensor tensor;
  for (std::size_t i = 0; i < elements; ++i) {
    tensor.push_back(static_cast<std::int32_t>(i * 7 + rank * 1'000'003U));
  }
  return tensor;
}

// The loss, whether the call is in place, and whether the codec copies.
class BriefResults : public ::testing::TestWithParam<std::tuple<double, bool, bool>> {
 protected:
  static std::vector<Tensor> run(bool is_brief, std::uint64_t seed) {
    const auto [loss, in_place, copies] = GetParam();
    Star star(kWorld, loss, seed, is_brief);
    std::vector<Tensor> inputs;
    std::vector<Tensor> outputs;
    for (std::uint16_t rank = 0; rank < kWorld; ++rank) inputs.push_back(tensor_of(rank, 1000));
    outputs.assign(kWorld, Tensor(1000));
    std::vector<Tensor>& targets = in_place ? inputs : outputs;
    for (std::uint16_t rank = 0; rank < kWorld; ++rank) {
      const TransferRequest request =
          broadcast_of(inputs[rank], targets[rank], copies ? kCopies : kRounds);
      EXPECT_TRUE(star.worker(rank).submit(star.now(), request));
    }
    EXPECT_TRUE(star.run([&] { return star.events().size() == kWorld; })) << "seed " << seed;
    for (const Event& event : star.events()) {
      EXPECT_FALSE(event.failure);
      EXPECT_EQ(event.ranks_summed, 1);
    }
    return targets;
  }
};

TEST_P(BriefResults, HaveTheBitsOfWholeOnes) {
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    const std::vector<Tensor> whole = run(false, seed);
    EXPECT_EQ(whole[kRoot], whole[0]);
    EXPECT_EQ(run(true, seed), whole) << "seed " << seed;
  }
}

INSTANTIATE_TEST_SUITE_P(All, BriefResults,
                         ::testing::Combine(::testing::Values(0.0, 0.3), ::testing::Bool(),
                                            ::testing::Bool()));

Header header_of(Kind kind, std::uint8_t worker) {
  Header header;
  header.kind = kind;
  header.worker = worker;
  header.epoch = 7;
  header.round = 1;
  header.signature.elements = kElements;
  header.signature.set_layout({WireFormat::i32, DataType::i32});
  header.signature.set_operation(Collective::broadcast, Reduction::sum);
  header.signature.shape = kElements + kRoot * INFOLD_SHAPE_ROOT_FACTOR;
  if (kind == Kind::add || kind == Kind::result) header.contributors = {1, 1, rank_digest(kRoot)};
  return header;
}

Bytes datagram_of(const Header& header) {
  Bytes datagram(INFOLD_HEADER_BYTES);
  write_header(header, datagram);
  const bool is_whole = header.kind == Kind::add || header.kind == Kind::result;
  if (is_whole) datagram.resize(INFOLD_HEADER_BYTES + kElements * 4, std::byte{1});
  return datagram;
}

AggregatorOptions options_of(bool is_brief) {
  AggregatorOptions options;
  options.epoch = 7;
  options.world = kWorld;
  options.brief_results = is_brief;
  options.check_period = 1;
  for (std::uint16_t rank = 0; rank < kWorld; ++rank) options.workers.push_back({rank, 1});
  return options;
}

// Delivers all contributions to a chunk, the root's first, and returns what the aggregator sent.
std::vector<Aggregator::Transmit> complete(Aggregator& aggregator) {
  aggregator.handle_datagram(datagram_of(header_of(Kind::add, kRoot)));
  aggregator.handle_datagram(datagram_of(header_of(Kind::skip, 0)));
  aggregator.handle_datagram(datagram_of(header_of(Kind::skip, 2)));
  std::vector<Aggregator::Transmit> sent;
  while (const auto each = aggregator.poll_transmit()) sent.push_back(*each);
  return sent;
}

constexpr std::size_t kBriefBytes = INFOLD_HEADER_BYTES;
constexpr std::size_t kWholeBytes = kBriefBytes + kElements * 4;

std::size_t replayed_bytes(Aggregator& aggregator, Kind kind, std::uint8_t worker) {
  EXPECT_EQ(aggregator.handle_datagram(datagram_of(header_of(kind, worker))), Verdict::replayed);
  const auto sent = aggregator.poll_transmit();
  EXPECT_TRUE(sent && sent->to == Aggregator::To::worker && sent->worker == worker);
  return sent ? sent->datagram.size() : 0;
}

TEST(BriefResultsAtAnAggregator, GoToTheOnlySender) {
  Aggregator aggregator(options_of(true));
  const std::vector<Aggregator::Transmit> sent = complete(aggregator);
  ASSERT_EQ(sent.size(), 1U);
  ASSERT_EQ(sent[0].to, Aggregator::To::all_workers);
  EXPECT_EQ(sent[0].datagram_for(0).size(), kWholeBytes);
  EXPECT_EQ(sent[0].datagram_for(kRoot).size(), kBriefBytes);
  EXPECT_EQ(sent[0].datagram_for(2).size(), kWholeBytes);
  EXPECT_EQ(replayed_bytes(aggregator, Kind::add, kRoot), kBriefBytes);
  EXPECT_EQ(replayed_bytes(aggregator, Kind::query, kRoot), kBriefBytes);
  EXPECT_EQ(replayed_bytes(aggregator, Kind::query, 0), kWholeBytes);
}

TEST(BriefResultsAtAnAggregator, AreWholeWhereSomeRankTakesNone) {
  Aggregator aggregator(options_of(false));
  EXPECT_FALSE(complete(aggregator).at(0).brief_for);
  EXPECT_EQ(replayed_bytes(aggregator, Kind::add, kRoot), kWholeBytes);
}

// The aggregator below passes what it gets on to its ranks, even if it has only one.
TEST(BriefResultsAtAnAggregator, AreWholeForAnAggregatorBelow) {
  AggregatorOptions options = options_of(true);
  options.aggregators_of_one = {kRoot};
  Aggregator aggregator(options);
  EXPECT_FALSE(complete(aggregator).at(0).brief_for);
}

TEST(BriefResultsAtAnAggregator, BelowAParentGoToTheOwnRankAlone) {
  for (const bool is_own : {true, false}) {
    AggregatorOptions options = options_of(true);
    options.world = kWorld + 1;
    options.parent_worker = 0;
    Aggregator aggregator(options);
    complete(aggregator);
    Header result = header_of(Kind::result, 0);
    if (!is_own) result.contributors.digest = rank_digest(kWorld);
    EXPECT_EQ(aggregator.handle_datagram(datagram_of(result)), Verdict::delivered);
    const auto sent = aggregator.poll_transmit();
    ASSERT_TRUE(sent && sent->to == Aggregator::To::all_workers);
    EXPECT_EQ(sent->brief_for.has_value(), is_own);
    EXPECT_EQ(replayed_bytes(aggregator, Kind::query, kRoot), is_own ? kBriefBytes : kWholeBytes);
  }
}

TEST(BriefResultsAtAnAggregator, AreMalformedFromAParent) {
  AggregatorOptions options = options_of(true);
  options.parent_worker = 0;
  Aggregator aggregator(options);
  complete(aggregator);
  const std::uint64_t before = aggregator.digest();
  Bytes brief = datagram_of(header_of(Kind::result, 0));
  brief.resize(INFOLD_HEADER_BYTES);
  EXPECT_EQ(aggregator.handle_datagram(brief), Verdict::dropped_malformed);
  EXPECT_EQ(aggregator.digest(), before);
}

class BriefResultsAtAWorker : public ::testing::Test {
 protected:
  explicit BriefResultsAtAWorker(std::uint16_t rank = kRoot) {
    WorkerOptions options;
    options.rank = rank;
    options.world = kWorld;
    options.limits.datagram_bytes_max = 1472;
    options.limits.elements_max = kElements;
    options.sites = {{.worker = static_cast<std::uint8_t>(rank), .epoch = 7}};
    options.small_slots = 0;
    options.bulk_slots = 4;
    options.check_period = 1;
    worker_.emplace(options);
    EXPECT_TRUE(worker_->submit({}, broadcast_of(input_, output_, kRounds)));
    std::array<std::byte, 1472> out;
    while (worker_->poll_transmit({}, out)) continue;
  }

  // Gives the worker a result without elements, after `change` has altered its header.
  template <typename Change>
  void receive_brief(Change change) {
    Header header = header_of(Kind::result, 0);
    change(header);
    Bytes brief(INFOLD_HEADER_BYTES);
    write_header(header, brief);
    worker_->handle_datagram({}, 0, brief);
  }
  void receive_brief() {
    receive_brief([](Header&) {});
  }
  const WorkerCounters& counters() const { return worker_->counters(); }

  Tensor input_ = tensor_of(kRoot, kElements);
  Tensor output_ = Tensor(kElements, -1);
  std::optional<Worker> worker_;
};

TEST_F(BriefResultsAtAWorker, AreTakenOnce) {
  receive_brief();
  receive_brief();
  EXPECT_EQ(counters().received_result, 1U);
  EXPECT_EQ(counters().dropped_repeat, 1U);
  EXPECT_EQ(output_[1], input_[1] / 10 * 10);
  const auto event = worker_->poll_event();
  ASSERT_TRUE(event);
  EXPECT_FALSE(event->failure);
}

TEST_F(BriefResultsAtAWorker, AreDroppedWhereTheyDoNotFit) {
  // A result may leave out elements only in a broadcast, from one rank, in an integer format.
  receive_brief([](Header& header) { header.contributors.count = 2; });
  receive_brief([](Header& header) {
    header.signature.set_operation(Collective::all_reduce, Reduction::sum);
  });
  receive_brief(
      [](Header& header) { header.signature.set_layout({WireFormat::bfp32, DataType::f32}); });
  receive_brief(
      [](Header& header) { header.signature.set_layout({WireFormat::native, DataType::f32}); });
  receive_brief([](Header& header) { header.flags = INFOLD_FLAG_PARTIAL; });
  receive_brief([](Header& header) { header.flags = INFOLD_FLAG_SPARSE; });
  EXPECT_EQ(counters().dropped_malformed, 6U);
  // The result must also answer what this worker has sent.
  receive_brief([](Header& header) { header.contributors.digest = rank_digest(0); });
  receive_brief([](Header& header) { header.contributors.weight = 2; });
  receive_brief([](Header& header) { ++header.signature.shape; });
  receive_brief([](Header& header) { ++header.round; });
  receive_brief([](Header& header) { ++header.slot; });
  EXPECT_EQ(counters().dropped_unexpected, 5U);
  EXPECT_EQ(counters().received_result, 0U);
  EXPECT_EQ(output_, Tensor(kElements, -1));
  EXPECT_FALSE(worker_->poll_event());
}

class BriefResultsAtAReceiver : public BriefResultsAtAWorker {
 protected:
  BriefResultsAtAReceiver() : BriefResultsAtAWorker(0) {}
};

TEST_F(BriefResultsAtAReceiver, AreMalformed) {
  receive_brief();
  EXPECT_EQ(counters().dropped_malformed, 1U);
  EXPECT_EQ(output_, Tensor(kElements, -1));
  worker_->handle_datagram({}, 0, datagram_of(header_of(Kind::result, 0)));
  EXPECT_EQ(counters().received_result, 1U);
  EXPECT_EQ(output_[0], 0x01010101 * 10);
}

}  // namespace
}  // namespace infold::core
