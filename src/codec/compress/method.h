// SPDX-License-Identifier: Apache-2.0
//
// The methods that are known by name: built-in ones, and those that users have added
// (infold/compressor.h).
#pragma once

#include <span>
#include <string>
#include <string_view>

#include <infold/compressor.h>

namespace infold::codec {

// In the order of the documentation.
std::span<const Method> built_in_methods();
// Null if there is none. Methods that users have added come first. Valid until the process ends.
const Method* find_method(std::string_view name);
// Names of all methods, with commas.
std::string method_names();

}  // namespace infold::codec
