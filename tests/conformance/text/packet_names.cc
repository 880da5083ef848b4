// SPDX-License-Identifier: Apache-2.0
//
// The words for codes of the wire header. Vectors, failures and the README use these words.
#include <array>
#include <string_view>

#include "tests/conformance/text/packet_text.h"

namespace infold::conformance {
namespace {

using Names = std::array<std::string_view, 12>;

constexpr Names kDtypes = {"f32", "f16", "bf16", "f64", "i8", "u8", "i32", "i64"};
constexpr Names kFormats = {"i8", "i16", "i32", "i64", "bfp8", "bfp16", "bfp32", "native"};
constexpr Names kReductions = {"sum", "average", "min", "max", "or"};
constexpr Names kCollectives = {"all_reduce", "reduce", "broadcast", "barrier"};
constexpr Names kReasons = {"", "cancelled", "deadline", "mismatch", "left", "lost", "stopped"};
constexpr Names kKinds = {"",      "add", "skip",   "partial", "overrange", "query",
                          "abort", "",    "result", "realign", "pending",   "aborted"};

std::optional<unsigned> find(const Names& names, const std::string& word) {
  for (unsigned i = 0; i < names.size(); ++i) {
    if (!names[i].empty() && names[i] == word) return i;
  }
  return std::nullopt;
}

}  // namespace

std::optional<unsigned> dtype_named(const std::string& word) { return find(kDtypes, word); }
std::optional<unsigned> format_named(const std::string& word) { return find(kFormats, word); }
std::optional<unsigned> reduction_named(const std::string& word) { return find(kReductions, word); }
std::optional<unsigned> collective_named(const std::string& word) {
  return find(kCollectives, word);
}
std::optional<unsigned> kind_named(const std::string& word) { return find(kKinds, word); }
std::optional<unsigned> reason_named(const std::string& word) { return find(kReasons, word); }

const char* kind_name(unsigned kind) {
  return kind < kKinds.size() && !kKinds[kind].empty() ? kKinds[kind].data() : "unknown kind";
}

}  // namespace infold::conformance
