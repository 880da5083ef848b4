// SPDX-License-Identifier: Apache-2.0
#include "cli/bench/this_machine.h"

#include <cstdlib>
#include <fstream>
#include <sys/utsname.h>
#include <thread>

#include <fmt/format.h>

namespace infold::cli {
namespace {

std::string first_match(const char* file, const std::string& key) {
  std::ifstream lines(file);
  for (std::string line; std::getline(lines, line);) {
    const auto colon = line.find(": ");
    if (line.starts_with(key) && colon != std::string::npos) return line.substr(colon + 2);
  }
  return "unknown processor";
}

}  // namespace

std::string this_machine() {
  utsname kernel = {};
  uname(&kernel);
  return fmt::format("{}, {} cores, {} {}", first_match("/proc/cpuinfo", "model name"),
                     std::thread::hardware_concurrency(), kernel.sysname, kernel.release);
}

double load() {
  double average = 0;
  return getloadavg(&average, 1) == 1 ? average : 0;
}

}  // namespace infold::cli
