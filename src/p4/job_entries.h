// SPDX-License-Identifier: Apache-2.0
//
// A job's entries in the tables of the pipeline.
//
// A packet is looked up once, with all that it must say. So a job has no entry of its own, but
// three for each worker.
#pragma once

#include <cstdint>
#include <vector>

#include "io/address/socket_address.h"
#include "p4/pipeline_job.h"
#include "p4/program.h"

namespace infold::p4 {

// In a slot's set of contributors.
std::uint32_t bits_of(const PipelineJob& job, std::uint8_t worker);

// By these a packet is of a job whose packets are summed, or of one that has ended.
std::vector<v1::Update> job_entries(const Program& program, const PipelineJob& job,
                                    v1::Update::Type type);

// By these the pipeline knows a worker's packets, and sends it packets. None: its place is unknown.
std::vector<v1::Update> worker_entries(const Program& program, const PipelineJob& job,
                                       std::uint8_t worker, v1::Update::Type type);

// In host order. Requires: an IPv4 address.
std::uint32_t ipv4_of(const io::SocketAddress& address);

}  // namespace infold::p4
