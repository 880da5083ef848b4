// SPDX-License-Identifier: Apache-2.0
//
// Converts a site's record to a message and back (spec/joining.md, J-014).
#pragma once

#include <string>

#include <tl/expected.hpp>

#include "core/site_record.h"
#include "proto/infold/v1/control.pb.h"

namespace infold::join {

v1::SiteRecord message_of(const core::SiteRecord& record);

// Null means that the record is missing, which is an error. Unknown bits are ignored, and limits
// beyond the protocol's count as the protocol's. The error names the field, as in "elements_max of
// 1".
tl::expected<core::SiteRecord, std::string> record_of(const v1::SiteRecord* message);

}  // namespace infold::join
