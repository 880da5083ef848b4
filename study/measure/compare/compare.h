// SPDX-License-Identifier: Apache-2.0
//
// The types of `infold bench compare`: implementations, conditions and measurements. The code that
// runs, reports and draws shares them. bound_s() gives the shortest time that the links alone
// allow. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

#include "study/measure/compare/zeros.h"

namespace infold::measure {

// The kind of implementation: where the sums are made, and which packets carry them.
enum class Way : std::uint8_t {
  infold_switch,   // each contribution goes to the switch once, and each result comes back once
  infold_workers,  // like infold_switch but without a switch: each worker sums its share
  gloo,
  openmpi
};

struct Implementation {
  std::string name;  // "infold-native", "infold-blocks-native", "gloo-ring", "openmpi"
  Way way = Way::gloo;
  // For rivals: "ring", "ring4", "hd", "oneshot", "allreduce", "union", "coo". For infold: the wire
  // format.
  std::string algorithm;
  std::string layout = "dense";      // for infold only
  std::size_t block = kRowElements;  // for "union" and "coo": elements left out together

  bool is_ours() const { return way == Way::infold_switch || way == Way::infold_workers; }
};

// Returns the implementation with one of the names above, or nothing.
std::optional<Implementation> implementation_of(std::string_view name);
std::vector<std::string> implementation_names();

// Returns "64 KiB" or "25 MiB" if the number is whole, else the number of bytes.
std::string size_text(std::uint64_t bytes);

struct Conditions {
  std::vector<std::uint64_t> worlds{8};
  std::vector<std::uint64_t> bytes{4, 4096, 65536, 1048576, 26214400};
  std::vector<Implementation> implementations;  // in the order of the table
  bool one_host = false;                        // all ranks run on this host, without links
  bool apart = false;            // each rank has its own processor; the others are for a switch
  std::string rate = "100mbit";  // as the lab accepts it
  double bits_per_second = 0;    // the rate as a number; 0: unshaped
  std::uint32_t mtu = 1500;
  double loss = 0;
  std::string congestion = "cubic";
  ZerosOptions zeros;
  unsigned rounds = 5;
  unsigned iterations = 0;  // for each size in each round; 0: chosen by size
};

// Returns the share of a tensor's blocks in which at least one rank has a value other than zero.
double union_share(const Conditions& conditions, std::uint64_t world);

// Returns the seconds that the links alone need for the bytes through the busiest link, with frames
// as the lab counts them. Returns 0 if links are not shaped.
double bound_s(const Conditions& conditions, const Implementation& implementation,
               std::uint64_t world, std::uint64_t bytes);

// One job's measurement of one size.
struct Sample {
  std::string impl;
  std::uint64_t world = 0;
  std::uint64_t bytes = 0;
  unsigned round = 0;
  std::string error;                // empty if the measurement succeeded
  nlohmann::ordered_json measured;  // the output of rank 0
};

// Summarises all rounds of one implementation, world and size.
struct Summary {
  std::string impl;
  std::uint64_t world = 0;
  std::uint64_t bytes = 0;
  unsigned rounds = 0;   // the rounds that measured it
  double median_ms = 0;  // the median of the rounds' medians, and their range
  double least_ms = 0;
  double most_ms = 0;
  double p99_ms = 0;         // the median of the rounds' p99
  double cpu_s_per_gb = 0;   // the median of the rounds' values, for rank 0
  double bound_ms = 0;       // 0: unknown, because links are unshaped
  std::uint64_t resent = 0;  // in all rounds
  std::string check;         // "ok", "wrong", "not checked", or "failed" if no round measured

  double goodput_mbps() const { return static_cast<double>(bytes) * 8 / median_ms / 1e3; }
};

// Returns summaries in the order of worlds, sizes and implementations. A combination that never ran
// does not get one.
std::vector<Summary> summarise(const Conditions& conditions, const std::vector<Sample>& samples);

}  // namespace infold::measure
