// SPDX-License-Identifier: Apache-2.0
//
// Runs the demo's distributed training as processes on this host: one or several switches, and a
// worker for each rank. They send UDP over loopback. All processes have ended when the function
// returns. Used by one thread.
#pragma once

#include <string>

#include <nlohmann/json.hpp>

#include "study/demo/demo_training.h"

namespace infold::demo {

struct ProcessOptions {
  TrainingOptions training;
  unsigned workers = 4;
  unsigned switches = 1;
  double loss = 0.01;  // probability for each packet, in each direction
  std::uint64_t loss_seed = 1;
  std::string wire = "native";
};

// Ends early if `progress` returns false, or after Ctrl-C or SIGTERM. An error names the process
// that caused it, and quotes what the others reported.
TrainingResult train_in_processes(const ProcessOptions& options, const Progress& progress);

// The lines that rank 0 prints and the demo reads.
nlohmann::ordered_json to_json(const StepReport& report);
nlohmann::ordered_json end_to_json(const TrainingResult& result);
// Adds such a line to a result. Returns true if it was the last one. Throws nlohmann's exceptions
// for other lines.
bool take_line(const std::string& line, TrainingResult& result);

}  // namespace infold::demo
