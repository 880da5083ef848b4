// SPDX-License-Identifier: Apache-2.0
//
// Reads lines as cases, and tokens as values.
#include "tests/conformance/text/vector_file.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <utility>

namespace infold::conformance {
namespace {

bool is_rule(const std::string& word) {
  if (word.size() != 5 || !word.starts_with("R-")) return false;
  for (std::size_t i = 2; i < word.size(); ++i) {
    if (std::isdigit(static_cast<unsigned char>(word[i])) == 0) return false;
  }
  return true;
}

std::vector<std::string> tokens_of(const std::string& line) {
  std::string spaced;
  for (const char c : line) {
    if (c == '#') break;
    const bool bracket = c == '[' || c == ']';
    if (bracket) spaced += ' ';
    spaced += c;
    if (bracket) spaced += ' ';
  }
  std::istringstream in(spaced);
  std::vector<std::string> tokens;
  for (std::string token; in >> token;) tokens.push_back(token);
  return tokens;
}

// "# R-014 R-015 words" opens a case.
bool open_case(const std::string& line, const std::string& where, std::vector<VectorCase>& cases) {
  std::istringstream in(line.substr(1));
  VectorCase opened;
  std::string word;
  while (in >> word && is_rule(word)) opened.rules.push_back(word);
  if (opened.rules.empty()) return false;
  opened.where = where;
  opened.title = word;
  std::string rest;
  std::getline(in, rest);
  opened.title += rest;
  cases.push_back(opened);
  return true;
}

}  // namespace

std::vector<VectorCase> parse_vectors(const std::string& name, const std::string& text) {
  std::vector<VectorCase> cases;
  std::istringstream in(text);
  int number = 0;
  for (std::string line; std::getline(in, line);) {
    const std::string where = name + ":" + std::to_string(++number);
    if (line.starts_with("#")) {
      open_case(line, where, cases);
      continue;
    }
    const std::vector<std::string> tokens = tokens_of(line);
    if (tokens.empty()) continue;
    if (cases.empty()) throw VectorError(where + ": a step before the first '# R-nnn' line");
    std::vector<Step>& steps = cases.back().steps;
    const bool continues = std::isspace(static_cast<unsigned char>(line[0])) != 0;
    if (continues && steps.empty()) throw VectorError(where + ": nothing to continue");
    if (!continues) steps.push_back({where, {}});
    steps.back().tokens.insert(steps.back().tokens.end(), tokens.begin(), tokens.end());
  }
  return cases;
}

std::vector<VectorCase> read_vectors(const std::string& path) {
  std::ifstream in(path);
  if (!in) throw VectorError(path + ": cannot be read");
  std::ostringstream text;
  text << in.rdbuf();
  return parse_vectors(path, text.str());
}

std::vector<VectorCase> all_vectors() {
  std::vector<std::string> paths;
  for (const auto& entry : std::filesystem::directory_iterator("spec/vectors")) {
    if (entry.path().extension() == ".vec") paths.push_back(entry.path().string());
  }
  std::sort(paths.begin(), paths.end());
  std::vector<VectorCase> all;
  for (const std::string& path : paths) {
    for (VectorCase& vector : read_vectors(path)) all.push_back(std::move(vector));
  }
  return all;
}

const std::string& Cursor::peek() const {
  if (done()) fail("the line ends too early");
  return step_.tokens[at_];
}

bool Cursor::accept(const std::string& token) {
  if (done() || step_.tokens[at_] != token) return false;
  ++at_;
  return true;
}

std::string Cursor::take_word() {
  std::string word = peek();
  ++at_;
  return word;
}

std::int64_t parse_number(const Step& step, const std::string& token) {
  const bool negative = token.starts_with("-");
  const std::string digits = negative ? token.substr(1) : token;
  const bool hex = digits.starts_with("0x");
  std::uint64_t value = 0;
  const char* const begin = digits.data() + (hex ? 2 : 0);
  const char* const end = digits.data() + digits.size();
  const auto [stop, error] = std::from_chars(begin, end, value, hex ? 16 : 10);
  if (error != std::errc() || stop != end) {
    throw VectorError(step.where + ": '" + token + "' is not a number");
  }
  return static_cast<std::int64_t>(negative ? 0 - value : value);
}

std::int64_t Cursor::take_number() { return parse_number(step_, take_word()); }

std::vector<std::string> Cursor::take_list() {
  if (!accept("[")) fail("expected '[', found '" + peek() + "'");
  std::vector<std::string> list;
  while (!accept("]")) {
    const std::string token = take_word();
    const std::size_t star = token.find('*');
    std::int64_t times = 1;
    if (star != std::string::npos) times = parse_number(step_, token.substr(star + 1));
    for (std::int64_t i = 0; i < times; ++i) list.push_back(token.substr(0, star));
  }
  return list;
}

std::vector<std::int64_t> Cursor::take_numbers() {
  std::vector<std::int64_t> numbers;
  for (const std::string& token : take_list()) numbers.push_back(parse_number(step_, token));
  return numbers;
}

std::vector<std::byte> Cursor::take_hex() {
  std::vector<std::byte> bytes;
  while (!done()) {
    const std::string& token = step_.tokens[at_];
    unsigned value = 0;
    const char* const end = token.data() + token.size();
    const auto [stop, error] = std::from_chars(token.data(), end, value, 16);
    if (token.size() != 2 || error != std::errc() || stop != end) break;
    bytes.push_back(static_cast<std::byte>(value));
    ++at_;
  }
  if (bytes.empty()) fail("expected bytes as pairs of hexadecimal digits");
  return bytes;
}

void Cursor::fail(const std::string& what) const { throw VectorError(step_.where + ": " + what); }

}  // namespace infold::conformance
