// SPDX-License-Identifier: Apache-2.0
//
// Tables that a user writes: a line for each row, with commas between the fields. The text may have
// spaces, comments after '#', empty lines and both kinds of line ends. Nothing here allocates more
// than a message.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

namespace infold::mix {

// Why a text cannot be read.
struct BadLine {
  std::size_t line = 0;  // from 1; 0: the text as a whole
  std::string reason;
};

class TableText {
 public:
  // The text must outlive this object and all fields.
  explicit TableText(std::string_view text) : rest_(text) {}

  // Moves to the next row. Returns false at the end of the text.
  bool next();
  // Fills the fields of the row, without the spaces around them. Returns why it cannot, or an empty
  // text. `names` are the columns, with commas between them.
  std::string split(std::span<std::string_view> fields, std::string_view names) const;
  BadLine bad(std::string reason) const { return {number_, std::move(reason)}; }

 private:
  std::string_view rest_;
  std::string_view row_;
  std::size_t number_ = 0;
};

// Returns the typed text, short enough for a message, and without control characters.
std::string quoted(std::string_view typed);
// Returns a number from 1 to `most`, or nothing.
std::optional<std::uint32_t> parse_whole(std::string_view typed, std::uint32_t most);
// Returns a number from 0 to `most`, or nothing.
std::optional<double> parse_real(std::string_view typed, double most);

}  // namespace infold::mix
