// SPDX-License-Identifier: Apache-2.0
//
// Where `infold plan` has the costs of processors from: our table, a measurement of this machine, a
// file with an earlier measurement, or nowhere, so that links decide.
#pragma once

#include <string>

#include <tl/expected.hpp>

#include "cli/line/command.h"
#include "predict/processors.h"

namespace infold::cli {

class ProcessorsOption {
 public:
  void declare(Options& options);

  // What is wrong with the options together; empty if nothing is.
  std::string problem() const;
  // All zero where processors count for nothing. `for_lab` makes a measurement the default, because
  // a lab has the processors of this machine. Prints what it measures. The error says what is wrong
  // with the file. Throws std::runtime_error with the reason when measuring or saving fails.
  tl::expected<predict::Processors, std::string> costs(Output& output, bool for_lab) const;

 private:
  std::string source_;  // empty: the default
  std::string saved_as_;
};

}  // namespace infold::cli
