// SPDX-License-Identifier: Apache-2.0
//
// Compiles and runs the code blocks of docs/api.md. Each block is here between two marks. The last
// test compares the page with this file, so that neither changes alone.

#include <fstream>
#include <iterator>
#include <regex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

// snippet
#include <infold/local_group.h>
// end

namespace {

TEST(ApiPage, SumsGradients) {
  // snippet
  auto group = infold::LocalGroup::create({.world = 4});
  if (!group) throw std::runtime_error(group.error().message);

  std::vector<std::thread> workers;
  for (int rank = 0; rank < 4; ++rank) {
    workers.emplace_back([&comm = (*group)[rank]] {
      std::vector<float> gradients(100'000, 1.0F);
      infold::Handle sum = comm.all_reduce(gradients, {.reduction = infold::Reduction::average});
      // ... compute something else meanwhile ...
      const auto done = sum.wait();
      if (!done) throw std::runtime_error(done.error().message);
    });
  }
  for (std::thread& worker : workers) worker.join();
  // end
}

TEST(ApiPage, JoinsOverTheNetwork) {
  // snippet
  infold::JoinOptions options;
  options.rendezvous = "127.0.0.1:7713";  // of rank 0; or options.switches = {"switch1:7700"}
  options.rank = 0;
  options.world = 1;
  auto joined = infold::Communicator::join(options);
  if (!joined) throw std::runtime_error(joined.error().message);
  infold::Communicator comm = std::move(*joined);
  // end
  EXPECT_EQ(comm.world(), 1);
}

TEST(ApiPage, ManyCallsAtOnce) {
  auto group = infold::LocalGroup::create({.world = 1});
  infold::Communicator& comm = (*group)[0];
  std::vector<std::vector<float>> layers(3, std::vector<float>(1000, 1.0F));
  // snippet
  std::vector<infold::Handle> sums;
  for (std::vector<float>& layer : layers) sums.push_back(comm.all_reduce(layer));
  for (infold::Handle& sum : sums) {
    if (const auto done = sum.wait(); !done) throw std::runtime_error(done.error().message);
  }
  // end
}

TEST(ApiPage, OtherCollectives) {
  auto group = infold::LocalGroup::create({.world = 1});
  infold::Communicator& comm = (*group)[0];
  std::vector<double> local(10, 2.0);
  std::vector<double> total(10);
  std::vector<float> weights(10);
  std::vector<std::uint16_t> memory(64);
  // snippet
  const auto finish = [](const infold::Handle& call) {
    if (const auto done = call.wait(); !done) throw std::runtime_error(done.error().message);
  };
  finish(comm.reduce(local, total, /*root=*/0));
  finish(comm.broadcast(weights, /*root=*/0));
  finish(comm.barrier({.deadline = std::chrono::seconds(60)}));
  // 16-bit floats, or memory whose type is known at run time only:
  finish(comm.all_reduce({memory.data(), memory.size(), infold::DataType::bf16},
                         {.wire = infold::WireFormat::bfp8}));
  // end
}

TEST(ApiPage, ManyTensorsInOneCall) {
  auto group = infold::LocalGroup::create({.world = 1});
  infold::Communicator& comm = (*group)[0];
  std::vector<std::vector<float>> layers(3, std::vector<float>(10, 1.0F));
  // snippet
  // Many tensors in one call; small ones share packets and keep the bits they have alone.
  const std::vector<infold::MutableTensorView> list(layers.begin(), layers.end());
  const auto listed = comm.all_reduce_list(list).wait();
  if (!listed) throw std::runtime_error(listed.error().message);
  // end
}

TEST(ApiPage, ZerosLeftOut) {
  auto group = infold::LocalGroup::create({.world = 1});
  infold::Communicator& comm = (*group)[0];
  std::vector<float> embedding_gradients(10'000);
  embedding_gradients[77] = 2;
  const auto finish = [](const infold::Handle& call) {
    if (const auto done = call.wait(); !done) throw std::runtime_error(done.error().message);
  };
  // snippet
  finish(comm.all_reduce(embedding_gradients, {.layout = infold::Layout::blocks}));
  // end
  EXPECT_EQ(embedding_gradients[77], 2);
  std::vector<std::vector<float>> layers(2, embedding_gradients);
  // snippet
  for (auto& layer : layers) finish(comm.all_reduce(layer, {.layout = infold::Layout::automatic}));
  // end
  EXPECT_EQ(layers[1][77], 2);
}

TEST(ApiPage, Rows) {
  auto group = infold::LocalGroup::create({.world = 1});
  infold::Communicator& comm = (*group)[0];
  const auto finish = [](const infold::Handle& call) {
    if (const auto done = call.wait(); !done) throw std::runtime_error(done.error().message);
  };
  // snippet
  const std::vector<std::int64_t> touched = {3, 77};  // The tensor has 10,000 rows of 64 elements.
  const std::vector<float> gradients(touched.size() * 64, 1.0F);
  infold::Rows sum;
  finish(comm.all_reduce({touched, gradients, 10'000, 64}, sum));
  const std::span<const std::int64_t> rows = sum.indices();
  const infold::TensorView values = sum.values();  // 64 elements for each of them
  std::vector<float> whole(10'000 * 64);
  finish(comm.all_reduce({touched, gradients, 10'000, 64}, whole));
  // end
  EXPECT_EQ(rows.size(), 2U);
  EXPECT_EQ(values.elements, 128U);
  EXPECT_EQ(whole[77 * 64 + 63], 1.0F);
  EXPECT_EQ(whole[78 * 64], 0.0F);
}

TEST(ApiPage, SumsEncodedTensors) {
  auto group = infold::LocalGroup::create({.world = 1});
  infold::Communicator& comm = (*group)[0];
  std::vector<float> gradients(1000, 1.5F);
  std::vector<std::byte> codes(32);
  std::vector<std::int16_t> sums(1000);
  const infold::MutableEncodedView sum{infold::WireFormat::bfp16, infold::DataType::f32, 1000,
                                       codes.data(), sums.data()};
  const auto finish = [](const infold::Handle& call) {
    if (const auto done = call.wait(); !done) throw std::runtime_error(done.error().message);
  };
  // snippet
  std::vector<std::byte> exponents(
      infold::exponent_bytes(infold::WireFormat::bfp16, infold::DataType::f32, 1000));
  std::vector<std::int16_t> mantissas(1000);
  const infold::MutableEncodedView input{infold::WireFormat::bfp16, infold::DataType::f32, 1000,
                                         exponents.data(), mantissas.data()};
  const auto encoded = infold::encode(gradients, input);  // or a kernel of your own
  if (!encoded) throw std::runtime_error(encoded.error().message);
  finish(comm.all_reduce(input, sum));  // `sum` is another MutableEncodedView
  const auto decoded = infold::decode(sum, gradients);
  if (!decoded) throw std::runtime_error(decoded.error().message);
  // end
  EXPECT_EQ(gradients, std::vector<float>(1000, 1.5F));
}

TEST(ApiPage, Errors) {
  auto group = infold::LocalGroup::create({.world = 2, .deadline = std::chrono::milliseconds(100)});
  infold::Communicator& comm = (*group)[0];
  std::vector<float> gradients(10);
  std::string log;
  // snippet
  const auto done = comm.all_reduce(gradients).wait();
  if (!done && done.error().code == infold::Code::deadline_exceeded) {
    // all_reduce #1 gave up after 0.100 s: waiting for rank 1, which has not contributed; ...
    log = done.error().message + " (rank " + std::to_string(done.error().rank) + ")";
  }
  // end
  EXPECT_NE(log.find("waiting for rank 1, which has not contributed"), std::string::npos) << log;
}

std::string read(const char* path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

// Returns all lines without their indentation.
std::string flat(const std::string& text) {
  return std::regex_replace(text, std::regex("\n +"), "\n");
}

TEST(ApiPage, ShowsWhatThisFileRuns) {
  const std::string page = read("docs/api.md");
  ASSERT_FALSE(page.empty()) << "run from the repository's root";
  const std::string source = flat(read("tests/integration/api_snippets_test.cc"));
  const std::string fence = "```cpp\n";
  int blocks = 0;
  for (std::size_t at = page.find(fence); at != std::string::npos; at = page.find(fence, at)) {
    at += fence.size();
    const std::string block = flat(page.substr(at, page.find("```", at) - at));
    EXPECT_NE(source.find("// snippet\n" + block + "// end\n"), std::string::npos)
        << "not in this file:\n"
        << block;
    ++blocks;
  }
  EXPECT_EQ(blocks, 11);
}

}  // namespace
