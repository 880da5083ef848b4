// SPDX-License-Identifier: Apache-2.0
//
// Messages of a rank to the host that it joins at.
#pragma once

#include "join/registrar.h"
#include "proto/infold/v1/control.pb.h"

namespace infold::join {

v1::JoinRequest hello_request(const Hello& hello);
v1::JoinRequest ready_request(const ReadyReport& report);
v1::JoinRequest leave_request(const Parting& parting);
v1::JoinRequest note_request(const CallNote& note);

}  // namespace infold::join
