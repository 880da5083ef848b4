// SPDX-License-Identifier: Apache-2.0
//
// Checks a host's answers to a rank where they arrive. Values from here are safe for a rank's state
// machines, so that no CHECK depends on the host. Any other answer becomes a refusal that names the
// host and the field. Pure.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "join/registrar.h"
#include "proto/infold/v1/control.pb.h"

namespace infold::join {

// The most bytes of one answer. The longest answer of an honest host, with the IPv6 addresses of
// 1024 ranks, has half as many.
inline constexpr int kAnswerBytesMax = 256 << 10;

// `own` is the rank's hello. `host` names the host in errors, as in "the switch at 10.0.0.1:7700".
Answer<JobTerms> terms_of(const v1::Joined& joined, const Hello& own, const std::string& host);

// Returns the groups in use, which are some of the proposed ones. The rank's own group is among
// them only if the rank has said that it shares memory.
Answer<std::vector<HostGroup>> groups_of(const v1::Go& go, const JobTerms& proposed,
                                         std::uint32_t rank, bool shares_memory,
                                         const std::string& host);

// Returns a refusal whose text is safe to print and whose rank is one of the job's, or -1.
Refusal heard_refusal(const v1::Refused& refused, std::uint32_t world);
// Returns an end that names a rank of the job. An end that makes no sense counts as the end of the
// host.
JobEnd heard_end(const v1::Ended& ended, std::uint32_t world);

}  // namespace infold::join
