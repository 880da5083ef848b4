// SPDX-License-Identifier: Apache-2.0
//
// A host's answers to a rank, checked where they arrive. Values from here fit a rank's machines, so
// that no CHECK depends on the host. Any other answer becomes a refusal that names the host and the
// field. Pure.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "join/registrar.h"
#include "proto/infold/v1/control.pb.h"

namespace infold::join {

// Of one answer of a host; the longest honest one, of 1024 ranks with addresses of IPv6, takes half
// of it.
inline constexpr int kAnswerBytesMax = 256 << 10;

// `own`: the rank's hello. `host`: for errors, as in "the switch at 10.0.0.1:7700".
Answer<JobTerms> terms_of(const v1::Joined& joined, const Hello& own, const std::string& host);

// The groups in use: some of those that were proposed. The rank's own is among them only if the
// rank has said that it shares memory.
Answer<std::vector<HostGroup>> groups_of(const v1::Go& go, const JobTerms& proposed,
                                         std::uint32_t rank, bool shares_memory,
                                         const std::string& host);

// A refusal whose text is safe to print and whose rank is one of the job's, or -1.
Refusal heard_refusal(const v1::Refused& refused, std::uint32_t world);
// An end that names a rank of the job. One that makes no sense is the end of the host.
JobEnd heard_end(const v1::Ended& ended, std::uint32_t world);

}  // namespace infold::join
