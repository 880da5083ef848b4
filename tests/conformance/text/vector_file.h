// SPDX-License-Identifier: Apache-2.0
//
// Reads spec/vectors/*.vec into cases and steps (grammar: spec/vectors/README.md). It knows only
// lines and tokens; the runners know the meaning of a step.
#pragma once

#include <stdexcept>
#include <string>
#include <vector>

namespace infold::conformance {

// Everything that reads vectors throws this, with file and line, and tests print it.
struct VectorError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// One line of a vector, with its continuation lines joined. Brackets are tokens of their own.
struct Step {
  std::string where;  // file:line
  std::vector<std::string> tokens;
};

struct VectorCase {
  std::string where;
  std::vector<std::string> rules;  // "R-014"
  std::string title;
  std::vector<Step> steps;
};

std::vector<VectorCase> read_vectors(const std::string& path);
// Reads all of spec/vectors, in the order of the files' names. Call it in the repository's root.
std::vector<VectorCase> all_vectors();
std::vector<VectorCase> parse_vectors(const std::string& name, const std::string& text);

// Walks over a step's tokens. Every take_ throws if the token is missing or of another kind.
class Cursor {
 public:
  explicit Cursor(const Step& step) : step_(step) {}
  Cursor(const Step& step, std::size_t begin, std::size_t end)
      : step_(step), at_(begin), end_(end) {}

  bool done() const { return at_ >= (end_ == 0 ? step_.tokens.size() : end_); }
  const std::string& peek() const;
  bool accept(const std::string& token);
  std::string take_word();
  std::int64_t take_number();
  // Takes a bracketed list, in which `a*n` stands for n times a.
  std::vector<std::string> take_list();
  std::vector<std::int64_t> take_numbers();
  // Takes hexadecimal bytes up to the first token that is not such a byte.
  std::vector<std::byte> take_hex();
  [[noreturn]] void fail(const std::string& what) const;
  // Messages quote this.
  const Step& step() const { return step_; }

 private:
  const Step& step_;
  std::size_t at_ = 0;
  std::size_t end_ = 0;
};

std::int64_t parse_number(const Step& step, const std::string& token);

}  // namespace infold::conformance
