// SPDX-License-Identifier: Apache-2.0
//
// A site's record as a message (spec/joining.md, J-014).
#pragma once

#include <string>

#include <tl/expected.hpp>

#include "core/site_record.h"
#include "proto/infold/v1/control.pb.h"

namespace infold::join {

v1::SiteRecord message_of(const core::SiteRecord& record);

// Null: the message lacks it. Unknown bits are passed over, and limits beyond the protocol's count
// as the protocol's. The error names the field, as in "elements_max of 1".
tl::expected<core::SiteRecord, std::string> record_of(const v1::SiteRecord* message);

}  // namespace infold::join
