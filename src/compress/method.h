// SPDX-License-Identifier: Apache-2.0
//
// Finds methods by name: the built-in ones, and the ones that users have added
// (infold/compressor.h).
#pragma once

#include <span>
#include <string>
#include <string_view>

#include <infold/compressor.h>

namespace infold::compress {

// Returns them in the order of the documentation.
std::span<const Method> built_in_methods();
// Returns null if there is no such method. The result is valid until the process ends.
const Method* find_method(std::string_view name);
// The names of all methods, separated by commas.
std::string method_names();

}  // namespace infold::compress
