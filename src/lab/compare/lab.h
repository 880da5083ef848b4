// SPDX-License-Identifier: Apache-2.0
//
// A lab for measurements. It makes hosts and links through tools/lab/lab.py, runs a daemon and a
// process for each rank on these hosts, waits, and reads what rank 0 printed. Without links it runs
// all processes on this host. One lab at a time measures on a machine, because two would share its
// cores. A destroyed lab leaves nothing behind. One thread; links need root.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "lab/child.h"

namespace infold::lab {

// Paths of the programs.
struct Places {
  std::filesystem::path lab;     // tools/lab/lab.py
  std::filesystem::path infold;  // this program
  std::filesystem::path peers;   // the folder of infold-peer-gloo and infold-peer-openmpi

  // Looks beside and above the running program. Throws std::runtime_error if there is no
  // tools/lab/lab.py.
  static Places find();
};

// Address of a rank's host in a lab with links. A daemon on the switch has kSwitchNode and
// kSwitchHost.
std::string host_address(std::uint64_t rank);
inline constexpr const char* kSwitchNode = "switch";
inline constexpr const char* kSwitchHost = "10.77.0.254";

struct LabLinks {
  std::uint64_t hosts = 0;
  std::string rate = "none";  // as tools/lab/lab.py takes it
  // Of single hosts, in place of `rate`.
  std::vector<std::pair<std::uint64_t, std::string>> rates_at;
  std::uint32_t mtu = 1500;
  double loss = 0;
  std::string congestion = "cubic";
};

// The processes of one measurement.
struct Launch {
  std::vector<Words> daemons;  // started before the ranks; each prints a line when it is ready
  std::vector<Words> ranks;    // the first one prints the result
};

struct Measured {
  nlohmann::ordered_json result;  // the output of rank 0
  std::string error;              // empty if it measured
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

  // The command that runs `words` on a host: a rank's number, or kSwitchNode. Without links, that
  // is this host.
  Words at(const std::string& node, const Words& words) const;
  // The address of a rank's host, of loopback without links.
  std::string address(std::uint64_t rank) const;
  // Its network namespace, as a file.
  std::filesystem::path space(const std::string& node) const;
  // Makes an empty folder for the next measurement, and removes the last one's.
  std::filesystem::path fresh_folder() const;
  // Returns a folder of this lab alone, which exists as long as the lab.
  const std::filesystem::path& scratch() const { return scratch_.path(); }
  const Places& places() const { return places_; }

  // Returns early, with an error, after Ctrl-C or SIGTERM. Requires: fresh_folder() was called.
  Measured run(const Launch& launch, std::chrono::seconds limit) const;

 private:
  Places places_;
  bool is_up_ = false;
  int lock_ = -1;
  ScratchFolder scratch_{"infold-bench"};
};

}  // namespace infold::lab
