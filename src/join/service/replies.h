// SPDX-License-Identifier: Apache-2.0
//
// Turns the answers to a rank into messages.
#pragma once

#include <vector>

#include "join/registrar.h"
#include "proto/infold/v1/control.pb.h"

namespace infold::join {

v1::JoinReply reply_of(const JobTerms& terms);
v1::JoinReply reply_of(const std::vector<HostGroup>& groups);
v1::JoinReply reply_of(const Refusal& refusal);
v1::JoinReply reply_of(const JobEnd& end);

}  // namespace infold::join
