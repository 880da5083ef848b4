// SPDX-License-Identifier: Apache-2.0
//
// A site's record as it travels (spec/joining.md, J-014).
#pragma once

#include <string>

#include <tl/expected.hpp>

#include "core/site_record.h"
#include "proto/infold/v1/control.pb.h"

namespace infold::control {

v1::SiteRecord message_of(const core::SiteRecord& record);

// Null: it was left out. What this version does not know is passed over, and limits beyond those of
// the protocol are the protocol's. The error says what it has, as in "elements_max of 1".
tl::expected<core::SiteRecord, std::string> record_of(const v1::SiteRecord* message);

}  // namespace infold::control
