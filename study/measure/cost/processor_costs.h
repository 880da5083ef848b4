// SPDX-License-Identifier: Apache-2.0
//
// A short measurement of what packets cost this machine's processors, for predict::Processors. It
// runs ranks as processes over loopback, with and without a switch, in chunks of three lengths, and
// a ring over TCP in this process. It takes some seconds and is called by one thread.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string_view>

#include "study/predict/processors.h"

namespace infold::measure {

// `infold` is the program to run as switch and rank. `begin` is called before each step. Throws
// std::runtime_error with the reason if a step fails or the user wants to stop.
predict::Processors measure_processors(const std::filesystem::path& infold,
                                       const std::function<void(std::string_view step)>& begin);

// Returns how many processors this process may run on.
std::uint32_t processor_count();

}  // namespace infold::measure
