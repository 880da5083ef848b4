// SPDX-License-Identifier: Apache-2.0
//
// Converts a refusal to a message and back.
#pragma once

#include "join/registrar.h"
#include "proto/infold/v1/control.pb.h"

namespace infold::join {

v1::Refused refused_of(const Refusal& refusal);
Refusal refusal_of(const v1::Refused& refused);

}  // namespace infold::join
