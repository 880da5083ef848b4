// SPDX-License-Identifier: Apache-2.0
//
// Joins with a wrapper around the endpoint between a rank and its network, for demonstrations and
// for tests of faulty networks. Programs use Communicator::join().
#pragma once

#include <functional>
#include <memory>

#include <infold/join_options.h>
#include <infold/result.h>

#include "io/endpoint.h"
#include "rank/member.h"

namespace infold::api {

using EndpointWrap = std::function<std::unique_ptr<io::Endpoint>(std::unique_ptr<io::Endpoint>)>;

// Like Communicator::join(), but returns the member, from which a communicator can be made.
Result<std::shared_ptr<rank::Member>> join_through(const JoinOptions& options,
                                                   const EndpointWrap& wrap);

}  // namespace infold::api
