// SPDX-License-Identifier: Apache-2.0
//
// Looks attributes up and makes new ones.
#include <algorithm>
#include <type_traits>
#include <utility>

#include "proto/chakra/execution_trace.pb.h"
#include "trace/trace.h"

namespace infold::trace {
namespace {

void put(ChakraProtoMsg::AttributeProto&, std::monostate) {}
void put(ChakraProtoMsg::AttributeProto& to, bool value) { to.set_bool_val(value); }
void put(ChakraProtoMsg::AttributeProto& to, std::int32_t value) { to.set_int32_val(value); }
void put(ChakraProtoMsg::AttributeProto& to, std::int64_t value) { to.set_int64_val(value); }
void put(ChakraProtoMsg::AttributeProto& to, std::uint64_t value) { to.set_uint64_val(value); }
void put(ChakraProtoMsg::AttributeProto& to, double value) { to.set_double_val(value); }
void put(ChakraProtoMsg::AttributeProto& to, const std::string& value) { to.set_string_val(value); }
void put(ChakraProtoMsg::AttributeProto& to, const std::vector<std::int64_t>& values) {
  auto* const list = to.mutable_int64_list();
  for (const std::int64_t value : values) list->add_values(value);
}

}  // namespace

Attribute make_attribute(std::string_view name, Attribute::Value value) {
  ChakraProtoMsg::AttributeProto message;
  message.set_name(std::string(name));
  std::visit([&message](const auto& each) { put(message, each); }, value);
  return {std::string(name), std::move(value), message.SerializeAsString()};
}

const Attribute* find(const Attributes& attributes, std::string_view name) {
  const auto found = std::find_if(attributes.begin(), attributes.end(),
                                  [&](const Attribute& each) { return each.name == name; });
  return found == attributes.end() ? nullptr : &*found;
}

std::optional<std::uint64_t> whole(const Attributes& attributes, std::string_view name) {
  const Attribute* const found = find(attributes, name);
  if (found == nullptr) return std::nullopt;
  return std::visit(
      [](const auto& value) -> std::optional<std::uint64_t> {
        using Type = std::decay_t<decltype(value)>;
        if constexpr (std::is_same_v<Type, bool> || !std::is_integral_v<Type>) {
          return std::nullopt;
        } else if constexpr (std::is_signed_v<Type>) {
          if (value < 0) return std::nullopt;
          return static_cast<std::uint64_t>(value);
        } else {
          return value;
        }
      },
      found->value);
}

std::optional<std::string> text(const Attributes& attributes, std::string_view name) {
  const Attribute* const found = find(attributes, name);
  if (found == nullptr || !std::holds_alternative<std::string>(found->value)) return std::nullopt;
  return std::get<std::string>(found->value);
}

}  // namespace infold::trace
