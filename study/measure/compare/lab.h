// SPDX-License-Identifier: Apache-2.0
//
// A lab for measurements. It makes hosts and links through tools/lab/lab.py, runs daemons and a
// process for each rank on these hosts, waits, and reads what rank 0 printed. Without links it runs
// all processes on this host. Only one lab at a time measures on a machine, because two would share
// its cores. A destroyed lab leaves nothing behind. Used by one thread; links need root.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "study/desk/child.h"

namespace infold::measure {

// Paths of the programs.
struct Places {
  std::filesystem::path lab;     // tools/lab/lab.py
  std::filesystem::path infold;  // this program
  std::filesystem::path rivals;  // the folder of infold-rival-gloo and infold-rival-openmpi

  // Looks beside and above the running program. Throws std::runtime_error if it finds no
  // tools/lab/lab.py.
  static Places find();
};

// Returns the address of a rank's host in a lab with links. A daemon on the switch uses kSwitchNode
// and kSwitchHost.
std::string host_address(std::uint64_t rank);
inline constexpr const char* kSwitchNode = "switch";
inline constexpr const char* kSwitchHost = "10.77.0.254";

struct LabLinks {
  std::uint64_t hosts = 0;
  std::string rate = "none";  // as tools/lab/lab.py accepts it
  // Rates of single hosts, which replace `rate`.
  std::vector<std::pair<std::uint64_t, std::string>> rates_at;
  std::uint32_t mtu = 1500;
  double loss = 0;
  std::string congestion = "cubic";
};

// The processes of one measurement.
struct Launch {
  std::vector<desk::Words>
      daemons;                     // started before the ranks; each prints a line when it is ready
  std::vector<desk::Words> ranks;  // the first one prints the result
};

struct Measured {
  nlohmann::ordered_json result;  // the output of rank 0
  std::string error;              // empty if the measurement succeeded
};

class Lab {
 public:
  // Throws std::runtime_error if another process measures on this machine.
  explicit Lab(Places places);
  ~Lab();
  Lab(const Lab&) = delete;
  Lab& operator=(const Lab&) = delete;

  // Makes the links. Throws std::runtime_error that says what is missing.
  void up(const LabLinks& links);
  void down();
  bool has_links() const { return is_up_; }

  // Returns the command that runs `words` on a host, which is a rank's number or kSwitchNode.
  // Without links, the command runs on this host.
  desk::Words at(const std::string& node, const desk::Words& words) const;
  // Returns the address of a rank's host, or a loopback address if there are no links.
  std::string address(std::uint64_t rank) const;
  // Returns the file of the host's network namespace.
  std::filesystem::path space(const std::string& node) const;
  // Makes an empty folder for the next measurement, and removes the folder of the last one.
  std::filesystem::path fresh_folder() const;
  // Returns a folder that only this lab uses and that exists as long as the lab.
  const std::filesystem::path& scratch() const { return scratch_.path(); }
  const Places& places() const { return places_; }

  // After Ctrl-C or SIGTERM it returns early with an error. Requires: fresh_folder() was called.
  Measured run(const Launch& launch, std::chrono::seconds limit) const;

 private:
  Places places_;
  bool is_up_ = false;
  int lock_ = -1;
  desk::ScratchFolder scratch_{"infold-bench"};
};

}  // namespace infold::measure
