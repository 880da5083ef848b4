// SPDX-License-Identifier: Apache-2.0
#include "trace/trace_file.h"

#include <filesystem>
#include <fstream>
#include <sys/stat.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/temp_folder_testing.h"
#include "proto/chakra/execution_trace.pb.h"
#include "trace/testing.h"

namespace infold::trace {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

std::string framed(const std::string& message) {
  return static_cast<char>(message.size()) + message;
}

std::string encoded(const ChakraProtoMsg::Node& node) { return framed(node.SerializeAsString()); }

class TraceFile : public ::testing::Test {
 protected:
  std::string put(const std::string& bytes) const {
    const std::string path = folder_.file("trace.0.et");
    std::ofstream(path, std::ios::binary) << bytes;
    return path;
  }

  base::TempFolder folder_;
};

TEST(TraceEncoding, DrawnTracesComeBackAsTheyWere) {
  for (std::uint64_t seed = 0; seed < 500; ++seed) {
    const Trace trace = drawn_trace(seed);
    const std::string bytes = encode(trace);
    const auto again = decode(bytes);
    ASSERT_TRUE(again) << "seed " << seed << ": " << again.error();
    EXPECT_EQ(*again, trace) << "seed " << seed;
    EXPECT_EQ(encode(*again), bytes) << "seed " << seed;
  }
}

TEST(TraceEncoding, MessagesAreThoseOfTheSchema) {
  const std::string bytes = encode(small_trace());
  const std::size_t first = static_cast<unsigned char>(bytes[0]);
  ChakraProtoMsg::GlobalMetadata metadata;
  ASSERT_TRUE(metadata.ParseFromString(bytes.substr(1, first)));
  EXPECT_EQ(metadata.version(), "0.0.4");
  const std::size_t second = static_cast<unsigned char>(bytes[1 + first]);
  ChakraProtoMsg::Node node;
  ASSERT_TRUE(node.ParseFromString(bytes.substr(2 + first, second)));
  EXPECT_EQ(node.id(), 1U);
  EXPECT_EQ(node.type(), ChakraProtoMsg::COMP_NODE);
  EXPECT_EQ(node.start_time_micros(), 100U);
}

// Field 11 of a node holds storage operations in newer versions of the schema; field 99 stands for
// future fields.
TEST(TraceEncoding, KeepsUnknownFieldsByteForByte) {
  const std::string storage("\x5a\x04\x08\x01\x52\x00", 6);
  const std::string later =
      "\x9a\x06\x03"
      "abc";
  ChakraProtoMsg::Node node;
  node.set_id(7);
  node.set_type(static_cast<ChakraProtoMsg::NodeType>(42));
  node.mutable_inputs()->set_shapes("[[2, 3]]");
  ASSERT_TRUE(node.mutable_inputs()->MergeFromString(later));
  ASSERT_TRUE(node.MergeFromString(storage + later));
  const std::string bytes = framed("\x0a\x03zzz" + later) + encoded(node);
  const auto trace = decode(bytes);
  ASSERT_TRUE(trace) << trace.error();
  EXPECT_EQ(trace->version, "zzz");
  EXPECT_EQ(trace->other, later);
  ASSERT_EQ(trace->nodes.size(), 1U);
  EXPECT_EQ(trace->nodes[0].other, storage + later);
  EXPECT_EQ(trace->nodes[0].inputs->other, later);
  EXPECT_EQ(static_cast<int>(trace->nodes[0].type), 42);
  EXPECT_EQ(encode(*trace), bytes);
}

TEST(TraceEncoding, KeepsAttributesThatItDoesNotInterpret) {
  ChakraProtoMsg::Node node;
  node.set_id(7);
  auto* const list = node.add_attr();
  list->set_name("weights");
  list->set_doc_string("a list of floats");
  list->mutable_float_list()->add_values(1.5F);
  auto* const later = node.add_attr();
  later->set_name("later");
  ASSERT_TRUE(
      later->MergeFromString("\x9a\x06\x03"
                             "abc"));
  const std::string bytes = framed("") + encoded(node);
  const auto trace = decode(bytes);
  ASSERT_TRUE(trace) << trace.error();
  const Attributes& attributes = trace->nodes[0].attributes;
  ASSERT_EQ(attributes.size(), 2U);
  EXPECT_TRUE(std::holds_alternative<std::monostate>(attributes[0].value));
  EXPECT_EQ(encode(*trace), bytes);
}

TEST(TraceEncoding, KeepsTextsThatAreNotUtf8) {
  Trace trace = small_trace();
  trace.nodes[0].name = "\xff\n\xfe";
  const std::string bytes = encode(trace);
  EXPECT_EQ(decode(bytes), trace);
  EXPECT_EQ(printable(trace.nodes[0].name), "???");
}

TEST(TraceEncoding, WholeNumbersOfAnyTypeAreRead) {
  ChakraProtoMsg::Node node;
  node.add_attr()->set_int32_val(1);
  node.add_attr()->set_sint64_val(2);
  node.add_attr()->set_fixed32_val(3);
  node.add_attr()->set_uint64_val(4);
  node.add_attr()->set_sfixed64_val(-5);
  node.add_attr()->set_bool_val(true);
  const char* const names[] = {"a", "b", "c", "d", "negative", "bool"};
  for (int i = 0; i < node.attr_size(); ++i) node.mutable_attr(i)->set_name(names[i]);
  const auto trace = decode(framed("") + encoded(node));
  ASSERT_TRUE(trace) << trace.error();
  const Attributes& found = trace->nodes[0].attributes;
  EXPECT_EQ(whole(found, "a"), 1U);
  EXPECT_EQ(whole(found, "b"), 2U);
  EXPECT_EQ(whole(found, "c"), 3U);
  EXPECT_EQ(whole(found, "d"), 4U);
  EXPECT_EQ(whole(found, "negative"), std::nullopt);
  EXPECT_EQ(whole(found, "bool"), std::nullopt);
  EXPECT_EQ(whole(found, "absent"), std::nullopt);
}

// Each prefix that ends inside a message is refused, with an error that names the message.
TEST(TraceEncoding, RefusesEveryCut) {
  const Trace whole_trace = small_trace();
  const std::string bytes = encode(whole_trace);
  std::size_t accepted = 0;
  for (std::size_t size = 1; size < bytes.size(); ++size) {
    const auto trace = decode(std::string_view(bytes).substr(0, size));
    if (trace) {
      ++accepted;
      EXPECT_LT(trace->nodes.size(), whole_trace.nodes.size());
    } else {
      EXPECT_THAT(trace.error(), AllOf(HasSubstr("message "), HasSubstr("cut off"))) << size;
    }
  }
  EXPECT_EQ(accepted, whole_trace.nodes.size());  // cuts between two messages
}

TEST(TraceEncoding, RefusesALengthThatLies) {
  const std::string metadata = framed("\x0a\x03zzz");
  const auto huge = decode(metadata + "\xff\xff\xff\xff\xff\xff\xff\xff\x7fxyz");
  ASSERT_FALSE(huge);
  EXPECT_THAT(huge.error(), AllOf(HasSubstr("message 2 at byte 6"), HasSubstr("3 are left")));
  const auto endless = decode(metadata + std::string(20, '\xff'));
  ASSERT_FALSE(endless);
  EXPECT_THAT(endless.error(), HasSubstr("message 2 at byte 6 has no length"));
  // With a length that is too short, the message is not a node.
  const auto shorter = decode(metadata + "\x03" + "\x12\x05" + "abcde");
  ASSERT_FALSE(shorter);
  EXPECT_THAT(shorter.error(), HasSubstr("message 2 at byte 6 is not a node"));
}

TEST_F(TraceFile, ErrorsNameTheFileAndTheRemedy) {
  const std::string path = put("");
  EXPECT_EQ(read(path).error(), path + ": the file is empty; record it again");
  put("\x1f\x8b and so on");
  EXPECT_EQ(read(path).error(), path + ": the file is compressed; unpack it with gunzip");
  put("{\"no\": \"trace\"}");
  EXPECT_THAT(read(path).error(), AllOf(HasSubstr(path), HasSubstr("message 1 at byte 0")));
  EXPECT_THAT(read(folder_.file("")).error(), HasSubstr("is a folder"));
  EXPECT_THAT(read(folder_.file("absent")).error(), HasSubstr("No such file"));
  const std::string pipe = folder_.file("pipe");
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  EXPECT_EQ(read(pipe).error(),
            pipe + ": it is not a regular file; name a trace such as trace.0.et")
      << "and it does not wait";
  Trace trace = small_trace();
  trace.nodes[1].control_deps = {17};
  put(encode(trace));
  EXPECT_THAT(read(path).error(), AllOf(HasSubstr(path), HasSubstr("node 2"), HasSubstr("17")));
}

TEST_F(TraceFile, WritesWholeFilesAndReadsThem) {
  const std::string path = folder_.file("trace.0.et");
  ASSERT_TRUE(write(small_trace(), path));
  EXPECT_EQ(read(path), small_trace());
  EXPECT_FALSE(std::filesystem::exists(path + ".part"));
  const auto lost = write(small_trace(), folder_.file("absent/trace.0.et"));
  ASSERT_FALSE(lost);
  EXPECT_THAT(lost.error(), AllOf(HasSubstr("absent/trace.0.et"), HasSubstr("No such file")));
}

}  // namespace
}  // namespace infold::trace
