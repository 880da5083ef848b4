// SPDX-License-Identifier: Apache-2.0
//
// The result of one reproduction: published figures beside figures that this program computed, as
// plain data. No figure depends on wall-clock time, so every machine gets the same report. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace infold::reproduce {

// Where the figure beside ours comes from.
enum class Basis {
  published,  // the authors print or plot it
  formula,    // given by a formula that the authors publish
  derived,    // follows from their published design or figures, by our own arithmetic
  none,       // there is no such figure, or it could not be read
};
const char* basis_name(Basis basis);

// Returns a size as `infold bench compare` and `infold plan` print it: "100 MiB" if it is whole
// MiB, else in MB.
std::string size_text(std::uint64_t bytes);

struct Figure {
  std::string name;
  std::string unit;  // in words, because M alone is 1024 x 1024 where the commands read a size
  Basis basis = Basis::none;
  double theirs = 0;  // meaningless if there is no basis
  double ours = 0;
  std::string why;  // why the two differ; empty: they should be equal
};

// Returns our figure as a share of theirs, minus 1, or nothing if their figure is missing or 0.
std::optional<double> difference(const Figure& figure);

// Hears which row of a long computation begins, such as "1 % loss, 128 slots", its number from 1
// on, and how many rows there are. May be empty.
using Progress = std::function<void(const std::string& row, std::size_t number, std::size_t rows)>;

// Counts the rows of one computation.
class Rows {
 public:
  Rows(const Progress& progress, std::size_t rows) : progress_(progress), rows_(rows) {}
  void begin(const std::string& row) {
    ++number_;
    if (progress_) progress_(row, number_, rows_);
  }

 private:
  const Progress& progress_;
  std::size_t rows_;
  std::size_t number_ = 0;
};

// A statement that our figures must make true.
struct Target {
  std::string text;
  bool is_met = false;
};

struct Report {
  std::vector<std::string> setting;  // sentences that say what was simulated or computed
  std::vector<Figure> figures;
  std::vector<Target> targets;
  std::vector<std::string> wrong;  // faults of a simulated run; empty: all runs kept their promises

  bool is_good() const;
};

}  // namespace infold::reproduce
