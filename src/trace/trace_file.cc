// SPDX-License-Identifier: Apache-2.0
#include "trace/trace_file.h"

#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <optional>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "proto/chakra/execution_trace.pb.h"
#include "trace/trace_check.h"

namespace infold::trace {
namespace {

constexpr int kVarintBytesMax = 10;
constexpr std::size_t kPieceBytes = 1 << 20;

Attribute::Value value_of(const ChakraProtoMsg::AttributeProto& from) {
  using Message = ChakraProtoMsg::AttributeProto;
  switch (from.value_case()) {
    case Message::kBoolVal: return from.bool_val();
    case Message::kInt32Val: return from.int32_val();
    case Message::kSint32Val: return from.sint32_val();
    case Message::kSfixed32Val: return from.sfixed32_val();
    case Message::kInt64Val: return from.int64_val();
    case Message::kSint64Val: return from.sint64_val();
    case Message::kSfixed64Val: return from.sfixed64_val();
    case Message::kUint32Val: return std::uint64_t{from.uint32_val()};
    case Message::kFixed32Val: return std::uint64_t{from.fixed32_val()};
    case Message::kUint64Val: return from.uint64_val();
    case Message::kFixed64Val: return from.fixed64_val();
    case Message::kDoubleVal: return from.double_val();
    case Message::kFloatVal: return static_cast<double>(from.float_val());
    case Message::kStringVal: return from.string_val();
    case Message::kInt64List: {
      const auto& values = from.int64_list().values();
      return std::vector<std::int64_t>(values.begin(), values.end());
    }
    default: return std::monostate();
  }
}

template <typename Messages>
Attributes attributes_of(const Messages& messages) {
  Attributes attributes;
  attributes.reserve(static_cast<std::size_t>(messages.size()));
  for (const auto& each : messages) {
    attributes.push_back({each.name(), value_of(each), each.SerializeAsString()});
  }
  return attributes;
}

template <typename Messages>
void put_attributes(const Attributes& attributes, Messages* messages) {
  for (const Attribute& each : attributes) messages->Add()->ParseFromString(each.encoded);
}

// The lite runtime does not expose unknown fields. They are what is still encoded once the known
// fields are cleared.
Values take_values(ChakraProtoMsg::IOInfo& from) {
  Values values = {from.values(), from.shapes(), from.types(), {}};
  from.clear_values();
  from.clear_shapes();
  from.clear_types();
  values.other = from.SerializeAsString();
  return values;
}

std::string take_other(ChakraProtoMsg::Node& from) {
  from.clear_id();
  from.clear_name();
  from.clear_type();
  from.clear_ctrl_deps();
  from.clear_data_deps();
  from.clear_start_time_micros();
  from.clear_duration_micros();
  from.clear_inputs();
  from.clear_outputs();
  from.clear_attr();
  return from.SerializeAsString();
}

void put_values(const Values& values, ChakraProtoMsg::IOInfo& to) {
  to.set_values(values.values);
  to.set_shapes(values.shapes);
  to.set_types(values.types);
  to.MergeFromString(values.other);
}

Node take_node(ChakraProtoMsg::Node& from) {
  Node node;
  node.id = from.id();
  node.name = from.name();
  node.type = static_cast<NodeType>(from.type());
  node.control_deps.assign(from.ctrl_deps().begin(), from.ctrl_deps().end());
  node.data_deps.assign(from.data_deps().begin(), from.data_deps().end());
  node.start_us = from.start_time_micros();
  node.duration_us = from.duration_micros();
  if (from.has_inputs()) node.inputs = take_values(*from.mutable_inputs());
  if (from.has_outputs()) node.outputs = take_values(*from.mutable_outputs());
  node.attributes = attributes_of(from.attr());
  node.other = take_other(from);
  return node;
}

void put_node(const Node& node, ChakraProtoMsg::Node& to) {
  to.set_id(node.id);
  to.set_name(node.name);
  to.set_type(static_cast<ChakraProtoMsg::NodeType>(node.type));
  to.mutable_ctrl_deps()->Add(node.control_deps.begin(), node.control_deps.end());
  to.mutable_data_deps()->Add(node.data_deps.begin(), node.data_deps.end());
  to.set_start_time_micros(node.start_us);
  to.set_duration_micros(node.duration_us);
  if (node.inputs) put_values(*node.inputs, *to.mutable_inputs());
  if (node.outputs) put_values(*node.outputs, *to.mutable_outputs());
  put_attributes(node.attributes, to.mutable_attr());
  to.MergeFromString(node.other);
}

void append(std::string& bytes, const std::string& message) {
  std::size_t length = message.size();
  for (; length >= 0x80; length >>= 7) bytes += static_cast<char>(0x80 | (length & 0x7f));
  bytes += static_cast<char>(length);
  bytes += message;
}

// Reads the stream's messages in order. Each message is a view of the bytes.
class Messages {
 public:
  explicit Messages(std::string_view bytes) : bytes_(bytes) {}

  bool are_done() const { return at_ == bytes_.size(); }
  // Returns how errors name the latest message.
  std::string place() const { return fmt::format("message {} at byte {}", count_, begin_); }

  tl::expected<std::string_view, std::string> next() {
    begin_ = at_;
    ++count_;
    std::uint64_t length = 0;
    bool has_ended = false;
    for (int i = 0; i < kVarintBytesMax && !has_ended; ++i) {
      if (are_done()) return tl::unexpected(cut_off("the file ends in its length"));
      const auto byte = static_cast<unsigned char>(bytes_[at_++]);
      length |= std::uint64_t{byte & 0x7fU} << (7 * i);
      has_ended = byte < 0x80;
    }
    if (!has_ended) {
      return tl::unexpected(place() +
                            " has no length; the file is not a Chakra trace, or is damaged");
    }
    const std::size_t left = bytes_.size() - at_;
    if (length > left) {
      return tl::unexpected(
          cut_off(fmt::format("it claims {} bytes, and {} are left", length, left)));
    }
    const std::string_view message = bytes_.substr(at_, length);
    at_ += length;
    return message;
  }

 private:
  std::string cut_off(const std::string& what) const {
    return fmt::format("{}: {}; the file is cut off or damaged: copy it or record it again",
                       place(), what);
  }

  std::string_view bytes_;
  std::size_t at_ = 0;
  std::size_t begin_ = 0;
  std::size_t count_ = 0;
};

std::string system_text(int number) {
  return std::error_code(number, std::generic_category()).message();
}

tl::expected<std::string, std::string> bytes_of(const std::string& path) {
  std::error_code error;
  if (std::filesystem::is_directory(path, error)) {
    return tl::unexpected(path + " is a folder; name the files in it, such as trace.0.et");
  }
  // Opening a pipe without a writer would block, even when a signal arrives. These two kinds of
  // path are already open.
  const bool is_open = path == "/dev/stdin" || path.starts_with("/dev/fd/");
  if (std::filesystem::is_other(path, error) && !is_open) {
    return tl::unexpected(path + ": it is not a regular file; name a trace such as trace.0.et");
  }
  errno = 0;
  std::ifstream in(path, std::ios::binary);
  if (!in) return tl::unexpected(fmt::format("{}: {}", path, system_text(errno)));
  std::string bytes;
  while (in) {
    const std::size_t before = bytes.size();
    bytes.resize(before + kPieceBytes);
    in.read(bytes.data() + before, kPieceBytes);
    bytes.resize(before + static_cast<std::size_t>(in.gcount()));
    if (bytes.size() > kFileBytesMax) {
      return tl::unexpected(path + " is larger than 1 GiB; record fewer steps");
    }
  }
  if (in.bad()) return tl::unexpected(fmt::format("{}: {}", path, system_text(errno)));
  return bytes;
}

}  // namespace

tl::expected<Trace, std::string> decode(std::string_view bytes) {
  if (bytes.empty()) return tl::unexpected(std::string("the file is empty; record it again"));
  if (bytes.starts_with("\x1f\x8b")) {
    return tl::unexpected(std::string("the file is compressed; unpack it with gunzip"));
  }
  Messages messages(bytes);
  Trace trace;
  const auto first = messages.next();
  if (!first) return tl::unexpected(first.error());
  ChakraProtoMsg::GlobalMetadata metadata;
  if (!metadata.ParseFromArray(first->data(), static_cast<int>(first->size()))) {
    return tl::unexpected(messages.place() +
                          " is not global metadata; the file is not a Chakra trace, or is damaged");
  }
  trace.version = metadata.version();
  trace.attributes = attributes_of(metadata.attr());
  metadata.clear_version();
  metadata.clear_attr();
  trace.other = metadata.SerializeAsString();
  while (!messages.are_done()) {
    const auto message = messages.next();
    if (!message) return tl::unexpected(message.error());
    ChakraProtoMsg::Node node;
    if (!node.ParseFromArray(message->data(), static_cast<int>(message->size()))) {
      return tl::unexpected(messages.place() +
                            " is not a node; the file is damaged: copy it or record it again");
    }
    trace.nodes.push_back(take_node(node));
  }
  return trace;
}

std::string encode(const Trace& trace) {
  std::string bytes;
  ChakraProtoMsg::GlobalMetadata metadata;
  metadata.set_version(trace.version);
  put_attributes(trace.attributes, metadata.mutable_attr());
  metadata.MergeFromString(trace.other);
  append(bytes, metadata.SerializeAsString());
  for (const Node& each : trace.nodes) {
    ChakraProtoMsg::Node node;
    put_node(each, node);
    append(bytes, node.SerializeAsString());
  }
  return bytes;
}

tl::expected<Trace, std::string> read_any(const std::string& path) {
  const auto bytes = bytes_of(path);
  if (!bytes) return tl::unexpected(bytes.error());
  auto trace = decode(*bytes);
  if (!trace) return tl::unexpected(path + ": " + trace.error());
  return trace;
}

tl::expected<Trace, std::string> read(const std::string& path) {
  auto trace = read_any(path);
  if (!trace) return trace;
  if (const auto fault = find_fault(*trace)) return tl::unexpected(path + ": " + *fault);
  return trace;
}

tl::expected<void, std::string> write(const Trace& trace, const std::string& path) {
  const std::string part = path + ".part";
  const std::string bytes = encode(trace);
  errno = 0;
  std::ofstream out(part, std::ios::binary);
  out.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  out.close();
  if (!out || std::rename(part.c_str(), path.c_str()) != 0) {
    const std::string reason = system_text(errno);
    std::remove(part.c_str());
    return tl::unexpected(fmt::format("{}: {}", path, reason));
  }
  return {};
}

}  // namespace infold::trace
