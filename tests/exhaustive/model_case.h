// SPDX-License-Identifier: Apache-2.0
//
// A small job for which the search explores every order of events: its parties, its tensors, and
// the faults of its network. A case is only data. cases.cc lists all cases.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/format.h"

namespace infold::exhaustive {

// The faults of the network. Both models have unlimited reordering.
enum class Model : std::uint8_t {
  monotone,  // any packet ever sent arrives at any time, any number of times, or never
  budgeted,  // each packet arrives once; a budget allows losses and duplicates
};
const char* model_name(Model model);

// How often each fault may happen in one run of the budgeted model.
struct Budget {
  std::uint8_t losses = 0;
  std::uint8_t duplicates = 0;
  std::uint8_t timeouts = 0;  // a worker's timer fires, early or not
};

// The smallest chunk for every element format: two blocks of 32 floats, or one of f64.
inline constexpr std::uint32_t kChunkElements = INFOLD_BLOCK_ELEMENTS_F64;

// A tensor that all workers submit.
struct Tensor {
  core::Collective collective = core::Collective::all_reduce;
  core::Reduction reduction = core::Reduction::sum;
  core::WireFormat format = core::WireFormat::i32;
  std::uint32_t chunks = 1;
  std::uint16_t root = 0;
  // Exponents so far apart that a second round is needed, or in native a second double.
  bool wide_spread = false;
  bool sparse = false;          // each worker leaves out other blocks of zeros
  bool quarters = false;        // and in its other blocks all but one quarter
  bool after_previous = false;  // sends nothing until the tensor before it is done
};

// How long a search takes, which decides where it runs.
enum class Effort : std::uint8_t {
  small,
  seconds,  // not under sanitizers, which take ten times as long
  minutes,  // in the stage "full"
  hours,    // only by name
};

struct Case {
  std::string name;
  Model model = Model::monotone;
  std::uint16_t workers = 2;      // in all
  std::uint16_t leaves = 0;       // aggregators below a root that share the workers; 0: no tree
  std::uint8_t sites = 1;         // aggregators that stripe the chunks
  bool only_adds = false;         // aggregators are pipelines that add (core::Adder)
  bool brief = false;             // roots of broadcasts get brief results
  std::uint8_t drivers = 1;       // the drivers among which each worker divides its sites
  std::uint16_t slots = 1;        // slots of the bulk stream at each site
  std::uint16_t small_slots = 0;  // 0: all tensors are bulk, and none is announced
  std::vector<Tensor> tensors;
  Budget budget = {};
  std::uint32_t epoch = 3;
  // Before this job, another job had its number, with the same tensors and other elements. All
  // packets that the earlier job can have sent are in the network from the start. Only the monotone
  // model has such a job.
  std::optional<std::uint32_t> epoch_before = {};
  std::uint32_t digit_first = 1;                 // the elements' first digit (oracle.h): 1 to 13
  std::optional<std::uint16_t> may_cancel = {};  // this rank may cancel the job at any time
  bool safety_only = false;                      // without the check that everything completes
  bool check_digests = false;                    // see local_steps.h; quadratic in small numbers
  std::uint64_t states_max = 40'000'000;         // a bound on memory: 8 GiB hold more
  Effort effort = Effort::small;
};

std::span<const Case> all_cases();
// Null if no case has this name.
const Case* find_case(const std::string& name);

}  // namespace infold::exhaustive
