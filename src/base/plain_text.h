// SPDX-License-Identifier: Apache-2.0
//
// Makes text from other processes safe to show to people. Some characters are invisible and change
// what is around them: control characters end lines or are commands to terminals, and bidirectional
// ones reorder a line, so that it reads like another one. Any thread may call.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace infold::base {

struct CodePoint {
  std::uint32_t value;
  std::size_t bytes;
};

// Returns the first code point of `text`. Each byte that is not UTF-8 becomes a U+FFFD of its own.
// Requires: the text is not empty.
CodePoint decode_first(std::string_view text);

// Writes '?' for each byte that is not UTF-8 and for each control character of Unicode: C0 except
// newlines, C1, bidirectional ones, and separators of lines and paragraphs.
std::string plain_text(std::string_view text);

// Whether `text` is one line that plain_text() would not change.
bool is_plain_line(std::string_view text);

// Writes '?' for each byte that is not a printable character of ASCII, also for newlines.
std::string printable(std::string_view text);

}  // namespace infold::base
