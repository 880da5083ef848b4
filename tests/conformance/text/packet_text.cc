// SPDX-License-Identifier: Apache-2.0
//
// Reads the fields of a packet from the words of a vector.
#include "tests/conformance/text/packet_text.h"

#include "tests/conformance/text/tensor_text.h"

namespace infold::conformance {
namespace {

// "f32/bfp8", or "i32" for an integer that is on the wire as it is.
bool read_type(const std::string& word, Signature& signature) {
  const std::size_t slash = word.find('/');
  const auto dtype = dtype_named(word.substr(0, slash));
  if (!dtype) return false;
  const std::string carried = slash != std::string::npos ? word.substr(slash + 1)
                              : word == "u8"             ? "i8"
                                                         : word;
  const auto format = format_named(carried);
  if (!format) return false;
  signature.dtype = *dtype;
  signature.format = *format;
  return true;
}

bool read_signature_field(Cursor& cursor, const std::string& word, Signature& signature) {
  if (word == "elements") {
    signature.elements = cursor.take_number();
  } else if (word == "shape") {
    signature.shape = cursor.take_number();
  } else if (const auto collective = collective_named(word)) {
    signature.collective = *collective;
  } else if (const auto reduction = reduction_named(word)) {
    signature.reduction = *reduction;
  } else {
    return read_type(word, signature);
  }
  return true;
}

bool read_header_field(Cursor& cursor, const std::string& word, PacketText& packet) {
  const std::map<std::string, std::int64_t*> numbers = {
      {"worker", &packet.worker}, {"by", &packet.worker},          {"job", &packet.job},
      {"epoch", &packet.epoch},   {"slot", &packet.slot},          {"round", &packet.round},
      {"cut", &packet.cut},       {"extend", &packet.extend},      {"rank", &packet.rank},
      {"other", &packet.other},   {"port", &packet.port},          {"part", &packet.part},
      {"parts", &packet.parts},   {"first_row", &packet.first_row}};
  const std::map<std::string, std::optional<std::int64_t>*> overrides = {
      {"count", &packet.count}, {"weight", &packet.weight}, {"digest", &packet.digest}};
  if (const auto found = numbers.find(word); found != numbers.end()) {
    *found->second = cursor.take_number();
  } else if (const auto over = overrides.find(word); over != overrides.end()) {
    *over->second = cursor.take_number();
  } else if (word == "version") {
    packet.version = static_cast<unsigned>(cursor.take_number());
  } else if (word == "flags") {
    packet.flags = static_cast<unsigned>(cursor.take_number());
  } else if (word == "specials") {
    packet.flags |= INFOLD_FLAG_SPECIALS;
  } else if (word == "ranks") {
    packet.ranks = take_ranks(cursor);
  } else if (word == "reason") {
    const std::string reason = cursor.take_word();
    const auto named = reason_named(reason);
    packet.reason = named ? static_cast<std::int64_t>(*named) : std::stoll(reason);
  } else {
    return false;
  }
  return true;
}

bool read_body_field(Cursor& cursor, const std::string& word, PacketText& packet) {
  if (word == "codes" || word == "low") {
    packet.codes = cursor.take_numbers();
  } else if (word == "high") {
    packet.high_codes = cursor.take_numbers();
  } else if (word == "plus") {
    packet.plus = cursor.take_numbers();
  } else if (word == "minus") {
    packet.minus = cursor.take_numbers();
  } else if (word == "at") {
    packet.second_at = cursor.take_numbers();
  } else if (word == "has") {
    packet.held.push_back(cursor.take_numbers());
    packet.flags |= INFOLD_FLAG_SPARSE;
  } else if (word == "quarters") {
    packet.quarters.push_back(cursor.take_numbers());
  } else if (word == "missing") {
    packet.missing = take_ranks(cursor);
  } else if (word == "bits") {
    packet.missing_bytes = cursor.take_number();
    packet.flags |= INFOLD_FLAG_BITS;
  } else if (word == "rank_signature") {
    packet.rank_signature = cursor.take_hex();
  } else if (word == "other_signature") {
    packet.other_signature = cursor.take_hex();
  } else if (word == "tag") {
    packet.tag = cursor.take_hex();
    packet.flags |= INFOLD_FLAG_TAGGED;
  } else if (word == "raw") {
    packet.raw = cursor.take_hex();
  } else if (word == "header") {
    packet.header = cursor.take_hex();
  } else if (word == "patch") {
    const std::int64_t at = cursor.take_number();
    packet.patches[at] = static_cast<std::byte>(cursor.take_number());
  } else {
    return false;
  }
  return true;
}

// Lists that are kept as words, because the packet's kind and type may follow them.
struct Lists {
  std::vector<std::string> elements;
  std::vector<std::string> second;
};

// Sets the number of elements.
void take_length(std::size_t length, PacketText& packet) {
  packet.signature.last_elements = static_cast<std::int64_t>(length);
  packet.signature.elements.reset();
}

bool read_list(Cursor& cursor, PacketText& packet, Lists& lists) {
  if (cursor.peek() == "[") {
    lists.elements = cursor.take_list();
    take_length(lists.elements.size(), packet);
  } else if (cursor.accept("second")) {
    lists.second = cursor.take_list();
  } else if (cursor.accept("row")) {
    packet.rows.push_back(cursor.take_numbers());
    take_length(packet.rows.back().size(), packet);
  } else {
    return false;
  }
  return true;
}

// Returns integers as they are, and in native the bits of floats of the tensor's type or of
// binary64.
std::vector<std::int64_t> numbers_of(const Step& step, const PacketText& packet,
                                     const std::vector<std::string>& words) {
  const bool is_native = packet.signature.format == INFOLD_FORMAT_NATIVE;
  const auto dtype = packet.kind == INFOLD_KIND_PARTIAL
                         ? core::DataType::f64
                         : static_cast<core::DataType>(packet.signature.dtype);
  std::vector<std::int64_t> numbers;
  for (const std::string& word : words) {
    numbers.push_back(is_native ? static_cast<std::int64_t>(value_bits(step, dtype, word))
                                : parse_number(step, word));
  }
  return numbers;
}

}  // namespace

void read_fields(Cursor& cursor, PacketText& packet) {
  Lists lists;
  while (!cursor.done() && cursor.peek() != "expect" && cursor.peek() != "and") {
    if (read_list(cursor, packet, lists)) continue;
    const std::string word = cursor.take_word();
    // No collective has the name of a kind, so the word says which of the two it is.
    if (const auto kind = kind_named(word)) {
      packet.kind = *kind;
    } else if (!read_header_field(cursor, word, packet) && !read_body_field(cursor, word, packet) &&
               !read_signature_field(cursor, word, packet.signature)) {
      cursor.fail("no field is called '" + word + "'");
    }
  }
  packet.elements = numbers_of(cursor.step(), packet, lists.elements);
  packet.second = numbers_of(cursor.step(), packet, lists.second);
}

// "[0-2 5]"; "[]" for no ranks.
std::vector<Ranks> take_ranks(Cursor& cursor) {
  std::vector<Ranks> ranks;
  for (const std::string& token : cursor.take_list()) {
    try {
      const std::size_t dash = token.find('-');
      const std::int64_t first = std::stoll(token.substr(0, dash));
      const std::int64_t last =
          dash == std::string::npos ? first : std::stoll(token.substr(dash + 1));
      ranks.push_back({first, last - first + 1, dash != std::string::npos});
    } catch (const std::logic_error&) {
      cursor.fail("'" + token + "' is not a range of ranks");
    }
  }
  return ranks;
}

}  // namespace infold::conformance
