// SPDX-License-Identifier: Apache-2.0
//
// A job's entries in the tables of the pipeline.
//
// The pipeline looks up a packet once, with all fields that must match. A job therefore does not
// have an entry of its own but three for each worker.
#pragma once

#include <cstdint>
#include <vector>

#include "io/address/socket_address.h"
#include "planes/p4/pipeline_job.h"
#include "planes/p4/program.h"

namespace infold::p4 {

// The worker's bits in a slot's set of contributors.
std::uint32_t bits_of(const PipelineJob& job, std::uint8_t worker);

// With these entries the pipeline recognises a job's packets, and sums them or treats the job as
// ended.
std::vector<v1::Update> job_entries(const Program& program, const PipelineJob& job,
                                    v1::Update::Type type);

// With these entries the pipeline knows where a worker's packets come from and where to send its
// packets. There are none while the worker's place is unknown.
std::vector<v1::Update> worker_entries(const Program& program, const PipelineJob& job,
                                       std::uint8_t worker, v1::Update::Type type);

// The address in host byte order. Requires: an IPv4 address.
std::uint32_t ipv4_of(const io::SocketAddress& address);

}  // namespace infold::p4
