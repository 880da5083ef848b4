// SPDX-License-Identifier: Apache-2.0
//
// What differs between the programs of p4/targets for their controller: what they can, what a job's
// entries are, and how registers are reached.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core/site_record.h"
#include "p4/program.h"
#include "p4/targets/job.h"
#include "p4/targets/registers.h"

namespace infold::p4 {

struct TargetLimits {
  core::SiteRecord record;
  std::uint32_t ranks_min = 1;
  std::uint32_t slots = 0;         // of all jobs together
  std::uint32_t slots_of_job = 0;  // likewise of one
  std::uint32_t slots_step = 1;    // a job's slots begin at a multiple of it
  std::uint32_t port_max = 0;      // of the device's ports to stations
  const char* program_file = "";   // what the device takes, as the compiler writes it
};

const TargetLimits& limits_of(TargetKind target);

class Target {
 public:
  virtual ~Target() = default;
  // What the program calls the job in notes, and in the table of workers.
  virtual std::uint16_t name_of(const PipelineJob& job) const = 0;
  // In a slot's set of contributors.
  virtual std::uint32_t bits_of(const PipelineJob& job, std::uint8_t worker) const = 0;
  // By these a packet is of a job whose packets are summed, or of one that has ended.
  virtual std::vector<v1::Update> job_entries(const PipelineJob& job,
                                              v1::Update::Type type) const = 0;
  // All others that the job has from its start on, beside its multicast group.
  virtual std::vector<v1::Update> sender_entries(const PipelineJob& job,
                                                 v1::Update::Type type) const = 0;
  // By these the pipeline knows where a worker's packets come from. Beside the table of workers.
  virtual std::vector<v1::Update> place_entries(const PipelineJob& job, std::uint8_t worker,
                                                v1::Update::Type type) const = 0;
  virtual std::unique_ptr<Registers> make_registers() const = 0;
};

// Requires: the program lives longer.
std::unique_ptr<Target> make_target(const Program& program);
std::unique_ptr<Target> make_bmv2_target(const Program& program);
std::unique_ptr<Target> make_tofino_target(const Program& program);
const TargetLimits& bmv2_limits();
const TargetLimits& tofino_limits();

// In host order. Requires: an IPv4 address.
std::uint32_t ipv4_of(const io::SocketAddress& address);

}  // namespace infold::p4
