// SPDX-License-Identifier: Apache-2.0
//
// Where `infold plan` gets the costs of processors from: our table, a measurement of this machine,
// or a file with an earlier measurement. It can also ignore processors, so that links alone decide.
#pragma once

#include <optional>
#include <string>

#include <tl/expected.hpp>

#include "cli/line/command.h"
#include "study/predict/processors.h"

namespace infold::cli {

class ProcessorsOption {
 public:
  void declare(Options& options);

  // Returns what is wrong with this combination of options, or an empty text.
  std::string problem() const;
  // Returns why the file of measured times cannot be written, before anything is measured.
  std::optional<std::string> find_unwritable_file() const;
  // Returns the costs, which are all zero if processors do not count. With `for_lab` the default is
  // a measurement, because a lab runs on the processors of this machine. Prints what it measures.
  // An error says what is wrong with the file. Throws std::runtime_error with the reason if
  // measuring or saving fails.
  tl::expected<predict::Processors, std::string> costs(Output& output, bool for_lab) const;

 private:
  std::string source_;  // empty: the default
  std::string saved_as_;
};

}  // namespace infold::cli
