// SPDX-License-Identifier: Apache-2.0
//
// The demo's distributed training as processes on this host: a switch or several, a worker for each
// rank, UDP over loopback between them. All of them are gone when it returns. One thread.
#pragma once

#include <string>

#include <nlohmann/json.hpp>

#include "lab/demo/demo_training.h"

namespace infold::lab {

struct ProcessOptions {
  TrainingOptions training;
  unsigned workers = 4;
  unsigned switches = 1;
  double loss = 0.01;  // probability for each packet, each way
  std::uint64_t loss_seed = 1;
  std::string wire = "bfp32";
};

// Ends early where progress returns false, or the user wants to stop. An error names the process
// that was the cause, and what the others said of it.
TrainingResult train_in_processes(const ProcessOptions& options, const Progress& progress);

// What rank 0 prints, and the demo reads.
nlohmann::ordered_json to_json(const StepReport& report);
nlohmann::ordered_json end_to_json(const TrainingResult& result);
// Adds such a line to a result; true if it was the last. Throws nlohmann's exceptions on others.
bool take_line(const std::string& line, TrainingResult& result);

}  // namespace infold::lab
