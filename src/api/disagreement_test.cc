// SPDX-License-Identifier: Apache-2.0
//
// Ranks make different calls at the same place, and each learns which rank and field differ.

#include <chrono>
#include <functional>
#include <span>
#include <vector>

#include "api/testing.h"

namespace infold {
namespace {

using std::chrono::seconds;
using testing::error_of;
using ::testing::HasSubstr;
using testing::make_group;
using testing::MaybeError;
using testing::on_every_rank;

// Each rank makes one call; the rank of interest makes the odd one.
struct Disagreement {
  const char* name;
  std::function<Handle(Communicator&, std::vector<float>&)> usual;
  std::function<Handle(Communicator&, std::vector<float>&)> odd;
  const char* field;
  const char* expected_text;
};

class Disagreements : public ::testing::TestWithParam<Disagreement> {};

TEST_P(Disagreements, NameTheRankAndTheFieldOnEveryRank) {
  const Disagreement& disagreement = GetParam();
  for (int odd_rank = 0; odd_rank < 3; ++odd_rank) {
    LocalGroup group = make_group({.world = 3});
    on_every_rank(group, [&](Communicator& comm, int rank) {
      std::vector<float> tensor(1400, 1.0F);
      const std::vector<float> before = tensor;
      const auto& call = rank == odd_rank ? disagreement.odd : disagreement.usual;
      const MaybeError error = error_of(call(comm, tensor).wait());
      ASSERT_TRUE(error.has_value());
      EXPECT_EQ(error->code, Code::mismatch) << error->message;
      EXPECT_STREQ(error->field, disagreement.field) << error->message;
      EXPECT_THAT(error->message, HasSubstr("rank " + std::to_string(odd_rank)));
      EXPECT_THAT(error->message, HasSubstr(disagreement.expected_text));
      EXPECT_THAT(error->message, HasSubstr(" #1"));
      EXPECT_EQ(tensor, before);
    });
  }
}

Handle all_reduce(Communicator& comm, std::vector<float>& tensor) {
  return comm.all_reduce(tensor);
}
std::span<float> part(std::vector<float>& tensor) { return std::span(tensor).first(1000); }

INSTANTIATE_TEST_SUITE_P(
    Api, Disagreements,
    ::testing::Values(
        Disagreement{"Size", all_reduce,
                     [](Communicator& comm, std::vector<float>& tensor) {
                       return comm.all_reduce(part(tensor));
                     },
                     "size", "1000"},
        Disagreement{"Type", all_reduce,
                     [](Communicator& comm, std::vector<float>& tensor) {
                       return comm.all_reduce({tensor.data(), tensor.size(), DataType::i32});
                     },
                     "type", "i32"},
        Disagreement{"Operation", all_reduce,
                     [](Communicator& comm, std::vector<float>& tensor) {
                       return comm.all_reduce(tensor, {.reduction = Reduction::average});
                     },
                     "operation", "average"},
        Disagreement{"Layout", all_reduce,
                     [](Communicator& comm, std::vector<float>& tensor) {
                       return comm.all_reduce(tensor, {.layout = Layout::blocks});
                     },
                     "operation", "the same operation and the same layout"},
        Disagreement{"WireFormat", all_reduce,
                     [](Communicator& comm, std::vector<float>& tensor) {
                       return comm.all_reduce(tensor, {.wire = WireFormat::bfp16});
                     },
                     "wire format", "bfp16"},
        Disagreement{"Encoding", all_reduce,
                     [](Communicator& comm, std::vector<float>& tensor) {
                       return comm.all_reduce(tensor, {.encoding = 40000});
                     },
                     "encoding", "encoding 40000"},
        Disagreement{"EncodingOfFixed32",
                     [](Communicator& comm, std::vector<float>& tensor) {
                       return comm.all_reduce(tensor, {.wire = WireFormat::fixed32, .encoding = 3});
                     },
                     [](Communicator& comm, std::vector<float>& tensor) {
                       return comm.all_reduce(tensor, {.wire = WireFormat::fixed32, .encoding = 4});
                     },
                     "encoding", "encoding 4"},
        Disagreement{"EncodingOfABroadcast",
                     [](Communicator& comm, std::vector<float>& tensor) {
                       return comm.broadcast(tensor, 1, {.encoding = 65535});
                     },
                     [](Communicator& comm, std::vector<float>& tensor) {
                       return comm.broadcast(tensor, 1, {.encoding = 1});
                     },
                     "encoding", "encoding 65535"},
        Disagreement{"Priority", all_reduce,
                     [](Communicator& comm, std::vector<float>& tensor) {
                       return comm.all_reduce(tensor, {.priority = Priority::background});
                     },
                     "priority", "among the large tensors"},
        Disagreement{"ListOfOtherTensors",
                     [](Communicator& comm, std::vector<float>& tensor) {
                       const MutableTensorView list[] = {part(tensor)};
                       return comm.all_reduce_list(list);
                     },
                     [](Communicator& comm, std::vector<float>& tensor) {
                       const MutableTensorView list[] = {tensor};
                       return comm.all_reduce_list(list);
                     },
                     "size", "passed 1400 elements"},
        Disagreement{"ListOfOtherBlocks",
                     [](Communicator& comm, std::vector<float>& tensor) {
                       const MutableTensorView list[] = {part(tensor)};
                       return comm.all_reduce_list(list, {.wire = WireFormat::bfp32});
                     },
                     [](Communicator& comm, std::vector<float>& tensor) {
                       const MutableTensorView list[] = {tensor};
                       return comm.all_reduce_list(list, {.wire = WireFormat::bfp32});
                     },
                     "size", "different sizes"},
        Disagreement{"Collective", all_reduce,
                     [](Communicator& comm,
                        std::vector<float>& tensor) { return comm.reduce(tensor, tensor, 0); },
                     "collective", "called reduce"},
        Disagreement{"BarrierAgainstAllReduce", all_reduce,
                     [](Communicator& comm, std::vector<float>&) { return comm.barrier(); },
                     "collective", "barrier"},
        Disagreement{"Root",
                     [](Communicator& comm, std::vector<float>& tensor) {
                       return comm.broadcast(tensor, 0);
                     },
                     [](Communicator& comm, std::vector<float>& tensor) {
                       return comm.broadcast(tensor, 2);
                     },
                     "root", "root 2"},
        Disagreement{"Fixed32AgainstDigits",
                     [](Communicator& comm, std::vector<float>& tensor) {
                       return comm.all_reduce(tensor, {.wire = WireFormat::fixed32});
                     },
                     [](Communicator& comm, std::vector<float>& tensor) {
                       return comm.all_reduce(tensor, {.wire = WireFormat::digits});
                     },
                     "size", "chose different wire formats"},
        Disagreement{"SizeOfDigits",
                     [](Communicator& comm, std::vector<float>& tensor) {
                       return comm.all_reduce(tensor, {.wire = WireFormat::digits});
                     },
                     [](Communicator& comm, std::vector<float>& tensor) {
                       return comm.all_reduce(part(tensor), {.wire = WireFormat::digits});
                     },
                     "size", "different sizes"},
        Disagreement{"DigitsAgainstBlocks", all_reduce,
                     [](Communicator& comm, std::vector<float>& tensor) {
                       return comm.all_reduce(tensor, {.wire = WireFormat::digits});
                     },
                     "operation", "asked for max"},
        Disagreement{"SizeOfFixed32",
                     [](Communicator& comm, std::vector<float>& tensor) {
                       return comm.all_reduce(tensor, {.wire = WireFormat::fixed32});
                     },
                     [](Communicator& comm, std::vector<float>& tensor) {
                       return comm.all_reduce(part(tensor), {.wire = WireFormat::fixed32});
                     },
                     "size", "different sizes"}),
    [](const auto& instance) { return instance.param.name; });

TEST(Failures, ALargeAgainstASmallTensorIsAMismatchToo) {
  LocalGroup group = make_group({.world = 2});
  on_every_rank(group, [&](Communicator& comm, int rank) {
    std::vector<float> tensor(rank == 0 ? 1'000'000 : 10);
    const MaybeError error = error_of(comm.all_reduce(tensor, {.deadline = seconds(2)}).wait());
    ASSERT_TRUE(error.has_value());
    EXPECT_EQ(error->code, Code::mismatch) << error->message;
    EXPECT_THAT(error->message, HasSubstr("1000000"));
  });
}

TEST(Failures, SwappedCallsOfDifferentSizesAreNeverSummed) {
  LocalGroup group = make_group({.world = 2});
  on_every_rank(group, [&](Communicator& comm, int rank) {
    std::vector<float> large(1'000'000, 1.0F);
    std::vector<float> small(10, 1.0F);
    Handle first = rank == 0 ? comm.all_reduce(large) : comm.all_reduce(small);
    Handle second = rank == 0 ? comm.all_reduce(small) : comm.all_reduce(large);
    const MaybeError error = error_of(first.wait());
    ASSERT_TRUE(error.has_value());
    EXPECT_EQ(error->code, Code::mismatch) << error->message;
    EXPECT_STREQ(error->field, "size");
    // This call may have been made after the first had ended the job.
    EXPECT_TRUE(error_of(second.wait()).has_value());
    EXPECT_EQ(small, std::vector<float>(10, 1.0F));
  });
}

}  // namespace
}  // namespace infold
