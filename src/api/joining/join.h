// SPDX-License-Identifier: Apache-2.0
//
// Joining with another port between a rank and its network, for demonstrations and tests of faulty
// networks. Programs use Communicator::join().
#pragma once

#include <functional>
#include <memory>

#include <infold/join_options.h>
#include <infold/result.h>

#include "io/endpoint.h"
#include "rank/member.h"

namespace infold::api {

using EndpointWrap = std::function<std::unique_ptr<io::Endpoint>(std::unique_ptr<io::Endpoint>)>;

// As Communicator::join(), for a communicator that is made from the member.
Result<std::shared_ptr<rank::Member>> join_through(const JoinOptions& options,
                                                   const EndpointWrap& wrap);

}  // namespace infold::api
